/*
 * The lock of one object, step by step as the procedures take them (procedures/postgres), with programs that crash and pause, a
 * clock that steps, and a purge. The assertions are what is promised; model_test.go has spin try every order of steps, and every
 * BROKEN_... variant, each of which must break an assertion.
 *
 * The table has one row. A statement that writes it is one step, since it locks the row and is judged on the row as it is then;
 * a statement that only reads is a step of its own, and what it has read may be old when the next one comes.
 */

#define PROGRAMS 2
#define TTL 2        /* ticks of the clock */
#define END 4        /* of time */
#define GRANTS 3     /* no more are made: the model is finite */
#define FREE 0       /* no program */

/* appl_lock: the one row */
bool row = false;
byte holder = FREE, fence = 0, expires = 0;
byte locked = FREE;   /* the program whose transaction has the row locked */

byte now = 1;         /* the clock of the database */
bool stepped = false; /* it has been set back once */

/* What no program can know: the grants in the order in which they were made. */
byte grants = 0;       /* how many there were */
byte heldGrant = 0;    /* that of the row */

/* A resource outside the database, which keeps the greatest fence that it has seen. */
byte seenFence = 0, writtenGrant = 0;

#define LIVE (row && expires > now)
#define OTHER (PROGRAMS + 1 - me)

/* What each program has as the fence of its grant, 0 if it has none, and which grant that was. */
byte mine[PROGRAMS + 1], mineGrant[PROGRAMS + 1];

inline grant(to) {
	grants++;
	heldGrant = grants;
	row = true;
	holder = to;
	expires = now + TTL
}

inline firstFence() {
#ifdef BROKEN_FENCE_IS_A_COUNTER
	fence = 1
#else
	fence = now
#endif
}

inline nextFence() {
	if
	:: fence >= now -> fence++
	:: else -> fence = now
	fi
}

/* get_appl_lock: S1 reads, S2 names what S1 has read. */
inline get() {
	atomic { sawRow = row; sawHolder = holder; sawFence = fence; sawExpires = expires; sawNow = now };
	if
	:: !sawRow -> /* S2a: the primary key lets one insert */
		atomic {
			if
			:: !row && grants < GRANTS ->
				firstFence(); grant(me); mine[me] = fence; mineGrant[me] = heldGrant
			:: else
			fi
		}
	:: sawRow && sawExpires <= sawNow -> /* S2b: take what was free at S1, and is unchanged since */
		atomic {
			locked == FREE;
			if
#ifdef BROKEN_GET_TAKES_WHAT_IT_SAW_FREE
			:: row && grants < GRANTS ->
#else
			:: row && fence == sawFence && expires == sawExpires && grants < GRANTS ->
#endif
				/* Nobody loses what he holds: by this clock, or by that of S1. */
				assert(expires <= now || expires <= sawNow);
				nextFence(); grant(me); mine[me] = fence; mineGrant[me] = heldGrant
			:: else
			fi
		}
	:: sawRow && sawExpires > sawNow && sawHolder == me -> /* S2c: renew */
		atomic {
			locked == FREE;
			if
			:: LIVE && holder == me -> expires = now + TTL; mine[me] = fence; mineGrant[me] = heldGrant
			:: else
			fi
		}
	:: else /* HELD */
	fi;
	atomic { sawRow = false; sawHolder = 0; sawFence = 0; sawExpires = 0; sawNow = 0 } /* fewer states */
}

/* renew_appl_locks: the very grant, while it is live. */
inline renew() {
	atomic {
		locked == FREE;
		if
		:: LIVE && holder == me && fence == mine[me] -> expires = now + TTL
		:: else
		fi
	}
}

inline release() {
	atomic {
		locked == FREE;
		if
#ifdef BROKEN_RELEASE_ASKS_NOT_WHOSE
		:: LIVE ->
#else
		:: LIVE && holder == me && fence == mine[me] ->
#endif
			assert(heldGrant == mineGrant[me]);
			expires = now
		:: else
		fi;
		mine[me] = 0; mineGrant[me] = 0
	}
}

/* transfer_appl_lock: to the other program, which is told. */
inline transfer() {
	atomic {
		locked == FREE;
		if
		:: LIVE && holder == me && fence == mine[me] && grants < GRANTS ->
#ifndef BROKEN_TRANSFER_KEEPS_THE_FENCE
			nextFence();
#endif
			grant(OTHER); /* which is told at once */
			mine[OTHER] = fence; mineGrant[OTHER] = heldGrant
		:: else
		fi /* it keeps its fence: it may not know that it has handed over */
	}
}

/* A write outside the database, which carries the fence. */
inline writeOutside() {
	atomic {
		if
#ifdef BROKEN_WRITE_WITHOUT_A_FENCE
		:: true ->
#else
		:: mine[me] >= seenFence ->
#endif
			seenFence = (mine[me] > seenFence -> mine[me] : seenFence);
			/* Nothing is written for a grant once a later one has written. */
			assert(mineGrant[me] >= writtenGrant);
			writtenGrant = mineGrant[me]
		:: else
		fi
	}
}

/* A write within the database: assert_appl_lock first, in the same transaction, which keeps the row. */
inline writeInside() {
	if
	:: atomic {
#ifdef BROKEN_ASSERT_ASKS_NOT_WHOSE
		locked == FREE && LIVE -> locked = me
#else
		locked == FREE && LIVE && holder == me && fence == mine[me] -> locked = me
#endif
		};
#ifdef BROKEN_ASSERT_LOCKS_NOTHING
		locked = FREE;
#endif
		/* The lock may expire now; nobody gets it until the transaction ends. */
		atomic {
			assert(heldGrant == mineGrant[me] && row && holder == me);
			locked = FREE /* commit, rollback, or the server ends the transaction of a program that crashed */
		}
	:: else
	fi
}

proctype program(byte me) {
	bool sawRow;
	byte sawHolder, sawFence, sawExpires, sawNow;
	do
	:: get()
	:: mine[me] != 0 -> renew()
	:: mine[me] != 0 -> release()
	:: mine[me] != 0 -> transfer()
	:: mine[me] != 0 -> writeOutside() /* after a pause, as all steps may be */
	:: mine[me] != 0 -> writeInside()
	:: mine[me] != 0 -> atomic { mine[me] = 0; mineGrant[me] = 0 } /* crashed, and begins again */
	:: break
	od
}

#ifdef BROKEN_PURGE_ASKS_NOT_FOR_THE_FENCE
#define LEFT_BEHIND true
#else
#define LEFT_BEHIND (fence < now)
#endif

/* purge_appl_locks: a row that has been free for a tick, and whose fence the clock has left behind. */
proctype purge() {
	do
	:: atomic {
		locked == FREE && row && expires < now && LEFT_BEHIND -> row = false; holder = FREE; fence = 0; expires = 0; heldGrant = 0
		}
	:: break
	od
}

proctype clock() {
	do
	:: atomic { now < END -> now++ }
	/* Set back once, by less than what a purge leaves alone. */
	:: atomic { !stepped && row && now > 1 -> stepped = true; now-- }
	:: break
	od
}

init {
	atomic { run program(1); run program(2); run purge(); run clock() }
}
