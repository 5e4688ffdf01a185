/*
 * The lock of one object, step by step as the procedures take them, with programs that crash and pause, a clock that steps, and a
 * purge. The assertions are what is promised. model_test.go has spin try every order of steps, and every BROKEN_... variant, each
 * of which must break an assertion.
 *
 * The table has one row. Each verb reads it (a step), decides, and compares and sets (another step): one statement by key, which
 * names what was read and is judged on the row as it is then. What was read may be old by that time.
 */

#define PROGRAMS 2
#define TTL 2        /* ticks of the clock */
#define END 3        /* of time */
#define GRANTS 3     /* no more are made, and no more renewals than RENEWALS: the model is finite */
#ifndef RENEWALS
#define RENEWALS 1
#endif
#define FREE 0       /* no program */

/* appl_lock: the one row */
bool row = false, released = false;
byte holder = FREE, fence = 0, lockTs = 0, expires = 0;
byte locked = FREE;   /* the program whose transaction has the row locked */

byte purged = 0;      /* appl_lock_fence: the greatest fence that a purge has removed */

byte now = 1;         /* the clock of the database */
bool stepped = false; /* it has been set back once */

/* What no program can know: the grants in the order in which they were made, and what has become of them. */
byte grants = 0;      /* how many there were */
byte heldGrant = 0;   /* that of the row */
byte renewals = 0;
byte lastFence = 0;   /* that of the last grant */
bool over = false;    /* the row's grant was released */

/* A resource outside the database, which keeps the greatest fence that it has seen. */
byte seenFence = 0, writtenGrant = 0;

#define LIVE (row && !released && expires > now)
#define OTHER (PROGRAMS + 1 - me)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* What a program has decided to do after it has read, and whether the row has changed since. */
#define NOTHING 0
#define INSERT 1
#define ACQUIRE 2
#define RENEW 3
#define MOVE 4
byte plan[PROGRAMS + 1];
bool outdated[PROGRAMS + 1];

/* What each program has as the fence of its grant, 0 if it has none, and which grant that was. */
byte mine[PROGRAMS + 1], mineGrant[PROGRAMS + 1];

inline changed() { outdated[1] = (plan[1] != NOTHING); outdated[2] = (plan[2] != NOTHING) }

/* lock_ts is the row's version: it grows with each get, renewal and transfer, also where time stands still or goes back. */
inline lastsFrom(time) {
#ifdef BROKEN_LOCK_TS_IS_THE_TIME
	lockTs = time;
#else
	lockTs = MAX(time, lockTs + 1);
#endif
	expires = time + TTL;
	changed()
}

inline lasts() { lastsFrom(now) }

inline grant(to) {
	assert(fence > lastFence); /* a fence never falls */
	lastFence = fence;
	grants++;
	heldGrant = grants;
	row = true;
	released = false;
	over = false;
	holder = to;
	lasts();
	mine[to] = fence;
	mineGrant[to] = heldGrant
}

/* A program has at most one plan. What it has read, it needs for that alone. */
inline decide(what) {
	plan[me] = what; outdated[me] = false; sawNow = now;
	if
	:: what == INSERT -> sawPurged = purged
	:: else -> sawFence = fence; sawLockTs = lockTs; sawExpires = expires; sawReleased = released
	fi
}

inline forget() {
	plan[me] = NOTHING; outdated[me] = false;
	sawFence = 0; sawLockTs = 0; sawExpires = 0; sawReleased = false; sawNow = 0; sawPurged = 0
}

/* What a compare and set names of what was read. */
#ifdef BROKEN_COMPARE_WITHOUT_LOCK_TS
#define UNCHANGED (row && fence == sawFence && expires == sawExpires && released == sawReleased)
#else
#define UNCHANGED (row && fence == sawFence && lockTs == sawLockTs && expires == sawExpires && released == sawReleased)
#endif

/* Renewals of one grant pass each other, but for that which read the clock earlier than the row's last. */
#ifdef BROKEN_RENEWAL_ASKS_NOT_WHOSE
#define THE_GRANT (row && !released && expires > sawNow)
#else
#define THE_GRANT (row && !released && expires > sawNow && fence == sawFence)
#endif
#ifdef BROKEN_RENEWAL_ASKS_NOT_WHEN
#define RENEWABLE THE_GRANT
#else
#define RENEWABLE (THE_GRANT && lockTs < MAX(sawNow, sawLockTs + 1))
#endif

/* get_appl_lock reads and decides. HELD is no plan. */
inline get() {
	atomic {
		if
		:: !row -> decide(INSERT)
		:: row && !LIVE -> decide(ACQUIRE)
		:: LIVE && holder == me -> decide(RENEW)
		:: else
		fi
	}
}

/* transfer_appl_lock and take_appl_lock read and decide. */
inline move() {
	atomic {
		if
		:: LIVE && holder == me && fence == mine[me] -> decide(MOVE)
		:: else
		fi
	}
}

/* The fence of a row that is inserted. The clock was read before, and so was appl_lock_fence: it is looked at again. */
inline firstFence() {
#ifdef BROKEN_FENCE_IS_A_COUNTER
	fence = 1
#else
	fence = MAX(sawNow, sawPurged + 1);
#ifndef BROKEN_INSERT_LOOKS_ONCE
	fence = MAX(fence, purged + 1)
#endif
#endif
}

inline nextFence() { fence = MAX(fence + 1, now) }

/* An insert that yields to a row that has come meanwhile, or a compare and set. Where it does not match, the program begins again. */
inline carryOut() {
	if
	:: plan[me] == INSERT && !row && grants < GRANTS -> lockTs = 0; firstFence(); grant(me)
#ifdef BROKEN_GET_TAKES_WHAT_IT_SAW_FREE
	:: plan[me] == ACQUIRE && row && grants < GRANTS ->
#else
	:: plan[me] == ACQUIRE && UNCHANGED && grants < GRANTS ->
#endif
		/* Nobody loses what he holds: by this clock, or by that of the read. */
		assert(!LIVE || !outdated[me]);
		nextFence(); grant(me)
	:: plan[me] == RENEW && RENEWABLE && renewals < RENEWALS ->
		/* A renewal undoes nothing that was answered since it read, and makes no end earlier that was told. */
		assert(holder == me && !over && (stepped || sawNow + TTL >= expires));
		renewals++; lastsFrom(sawNow); mine[me] = fence; mineGrant[me] = heldGrant
#ifdef BROKEN_MOVE_COMPARES_NOTHING
	:: plan[me] == MOVE && row && grants < GRANTS ->
#else
	:: plan[me] == MOVE && UNCHANGED && grants < GRANTS ->
#endif
		assert(!outdated[me]);
#ifndef BROKEN_MOVE_KEEPS_THE_FENCE
		nextFence();
#endif
		grant(OTHER) /* which is told at once; who hands over keeps its fence, and may not know that it has handed over */
	:: else
	fi;
	forget()
}

/* renew_appl_locks: the very grant, while it is live. Its caller names the fence, so that the first statement is the compare and set. */
inline renew() {
	atomic {
		locked == FREE;
		if
		:: LIVE && holder == me && fence == mine[me] && renewals < RENEWALS -> assert(!over); renewals++; lasts()
		:: else
		fi
	}
}

/* release_appl_lock: the very grant, live or expired, and nothing but released_ts. Its caller names the fence as well. */
inline release() {
	atomic {
		locked == FREE;
		if
#ifdef BROKEN_RELEASE_ASKS_NOT_WHOSE
		:: row && !released ->
#else
		:: row && !released && holder == me && fence == mine[me] ->
#endif
			assert(heldGrant == mineGrant[me]);
#ifdef BROKEN_RELEASE_SETS_THE_END
			expires = now;
#else
			released = true;
#endif
			over = true; changed()
		:: else
		fi;
		mine[me] = 0; mineGrant[me] = 0
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
	bool sawReleased;
	byte sawFence, sawLockTs, sawExpires, sawNow, sawPurged;
	do
	:: plan[me] != NOTHING -> atomic { locked == FREE; carryOut() }
	:: plan[me] == NOTHING -> get()
	:: mine[me] != 0 -> renew() /* another session of the program, whatever this one is about, and so is a release */
	:: mine[me] != 0 -> release()
	:: mine[me] != 0 && plan[me] == NOTHING -> move()
	:: mine[me] != 0 && plan[me] == NOTHING -> writeOutside() /* after a pause, as all steps may be */
	:: mine[me] != 0 && plan[me] == NOTHING -> writeInside()
	:: mine[me] != 0 -> atomic { mine[me] = 0; mineGrant[me] = 0; forget() } /* crashed, and begins again */
	od
}

/* purge_appl_locks: a row that has been free for a tick, and whose fence the clock has left behind, which is kept before it goes. */
proctype purge() {
end:
	do
	:: atomic {
		locked == FREE && row && (released || expires < now) && fence < now ->
#ifndef BROKEN_PURGE_KEEPS_NO_FENCE
			purged = MAX(purged, fence);
#endif
			row = false; released = false; holder = FREE; fence = 0; lockTs = 0; expires = 0; heldGrant = 0; over = false; changed()
		}
	od
}

proctype clock() {
end:
	do
	:: atomic { now < END -> now++ }
	/* Set back once. What was released stays so. */
	:: atomic { !stepped && now > 1 -> stepped = true; now--; assert(!(LIVE && over)) }
	od
}

init {
	atomic { run program(1); run program(2); run purge(); run clock() }
}
