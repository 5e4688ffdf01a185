/*
 * Two programs wait for one object and hand it over, step by step as package lease does. Calls have no answer and arrive late, waiters
 * give up, and messages are lost, late and doubled. model_test.go has spin try every order of steps, and every BROKEN_... variant, each
 * of which must fail. The comment of a variant names the run in which it fails, and the function of package lease that has the guard.
 *
 * A caller asks by a name. No name is granted twice, which is asserted, so a name stands for its grant here, and there are no fences.
 * Left out are time (ends, renewals, and the pauses between turns: they are like a waiter that wakes late), sets of objects, reentrance,
 * and operators that the caller gives.
 */

#define FREE 0 /* no name */
#define NONE 0

/* Waiters have the numbers 1 to HERE in the first program, and HERE + 2 to LAST in the second one. */
#define LAST (HERE + 1 + THERE)
#define NUMBERS (LAST + 2)

byte owner = FREE; /* the backend: by which name the object is held */
byte mishaps = 0;  /* calls without an answer and waiters that give up: MISHAPS at the most, so that the model is finite */

/* What each program knows of the object. */
byte holder[2];    /* the name of the hold in place, which stays until its release or its pass is answered */
bool trusts[2];    /* whoever has that hold may work */
byte unsettled[2]; /* gets and passes that are to be undone: until then it is nobody's turn */
bool failed[2];    /* the last get had no answer */
byte first[2];     /* in the queue */

/* The waiters. They come in the order of their numbers. */
mtype = { waits, gone };
mtype stage[NUMBERS]; /* 0 before they come */
byte name[NUMBERS], passed[NUMBERS];
bool woken[NUMBERS], heeds[NUMBERS], givesUp[NUMBERS];

byte working = HERE + THERE + 1; /* processes that have not ended */
bool over = false;

#define QUEUED(p) (stage[first[p]] == waits)
#define RIGHT(p) (!trusts[p] || owner == holder[p])

/* The backend decides in one step: a get (former is FREE) takes what is free, a pass what is its former's. */
#ifdef BROKEN_PASS_COMPARES_NOTHING /* TWO, backend.go: Pass */
#define CAN_TAKE(former) (owner == former || former != FREE)
#else
#define CAN_TAKE(former) (owner == former)
#endif

inline take(nm) {
	assert(owner != nm); /* nobody is granted twice */
	owner = nm;
	assert(RIGHT(0) && RIGHT(1)) /* nobody loses what he holds */
}

inline drop(nm) {
	if :: owner == nm -> owner = FREE; assert(RIGHT(0) && RIGHT(1)) :: else fi
}

/* A release is repeated until it is answered. One that does not arrive changes nothing. */
#define NO_ANSWER mishaps < MISHAPS -> mishaps++
#define LOST_ANSWER(nm) owner == nm && NO_ANSWER; drop(nm)

/* While somebody holds the object here, a wake would come to nothing. */
inline nudge(p) {
	if :: holder[p] == NONE && QUEUED(p) -> woken[first[p]] = true :: else fi
}

inline advance(p) {
	if :: unsettled[p] == 0 -> nudge(p) :: else fi
}

inline hold(nm) { holder[p] = nm; trusts[p] = true; failed[p] = false; assert(RIGHT(p)) }

inline vacate() {
	holder[p] = NONE; failed[p] = false;
#ifndef BROKEN_VACATING_WAKES_NOBODY /* ALONE, queue.go: vacate */
	advance(p)
#endif
}

/*
 * A get or a pass without an answer is undone in the background. It may arrive until the last release comes, or never; one that is refused
 * is like one that never arrives. After a pass the former grant is released first.
 */
#define ARRIVES late && CAN_TAKE(former) -> late = false; take(nm)
#define PASSES (former != FREE && holder[p] == former)

proctype undo(byte p, nm, former) {
	bool late = true, uncertain = false;
	do
	:: atomic { ARRIVES }
	:: atomic { PASSES && LOST_ANSWER(former) }
	:: atomic {
		PASSES ->
#ifndef BROKEN_UNDONE_PASS_KEEPS_THE_FORMER /* ALONE, pass.go: undoPass */
		drop(former);
#endif
		vacate()
		}
	:: atomic { !PASSES && LOST_ANSWER(nm) }
	:: atomic {
		!PASSES -> drop(nm); unsettled[p]--;
#ifndef BROKEN_SETTLED_WAKES_NOBODY /* ALONE, queue.go: countUnsettled */
		advance(p);
#endif
		break
		}
	od;
	/* The release is repeated, whatever it has found. Only the last one matters here: those before it are no more than the one above. */
	do
	:: atomic { ARRIVES }
#ifdef BROKEN_GONE_IS_BELIEVED /* ALONE, acquire.go: giveBackByName */
	:: atomic { late = false; working--; break }
#else
	:: atomic { LOST_ANSWER(nm); uncertain = true }
	:: atomic {
		owner != nm ->
#ifndef BROKEN_UNCERTAIN_RELEASE_WAKES_NOBODY /* ALONE, late.go: releaseOne */
		if :: uncertain -> nudge(p) :: else fi;
#endif
		late = false; working--; break
		}
	:: atomic {
		owner == nm -> drop(nm);
#ifndef BROKEN_LATE_RELEASE_WAKES_NOBODY /* ALONE, late.go: releaseOne */
		nudge(p);
#endif
		late = false; working--; break
		}
#endif
	od
}

inline undone(nm, former) { unsettled[p]++; working++; run undo(p, nm, former) }

/* The last release may come late. It must not end a later grant. */
inline rename(w) {
#ifdef BROKEN_NAME_IS_USED_AGAIN /* ALONE, queue.go: rename */
	skip
#else
	name[w] = name[w] + NUMBERS
#endif
}

inline dequeue() {
	stage[me] = gone; heeds[me] = false; woken[me] = false; givesUp[me] = false;
	do :: stage[first[p]] == gone -> first[p]++ :: else -> break od
}

proctype waiter(byte p, me) {
	byte mine, next; /* the name by which it has the object, and to whom it passes the object on */
	atomic { me == 1 || me == HERE + 2 || stage[me - 1] != 0; stage[me] = waits };

look:
	atomic {
		if
		:: passed[me] != NONE -> mine = passed[me]; passed[me] = NONE; dequeue(); goto holding
		:: passed[me] == NONE && holder[p] == NONE && unsettled[p] == 0 && first[p] == me ->
			if
			:: CAN_TAKE(FREE) -> mine = name[me]; take(mine); goto answer
			:: !CAN_TAKE(FREE) -> goto answer /* refused */
			:: NO_ANSWER; undone(name[me], FREE); rename(me); failed[p] = true
			:: givesUp[me] -> undone(name[me], FREE); goto leave /* the get is abandoned */
			fi
		:: else
		fi;
sleep:		heeds[me] = !(failed[p] && holder[p] == NONE && first[p] == me)
	};
	if
	:: !heeds[me] -> goto look /* after a moment */
	:: atomic { heeds[me] && woken[me] -> woken[me] = false; goto look }
	:: givesUp[me] -> goto leave
	fi;

answer: /* to the get */
	atomic {
		if
		:: mine != NONE -> hold(mine); dequeue(); goto holding
		:: else -> failed[p] = false; goto sleep
		fi
	};

leave:
	atomic {
		dequeue();
#ifndef BROKEN_LEAVING_WAKES_NOBODY /* ALONE, queue.go: dequeue */
		advance(p);
#endif
#ifndef BROKEN_LEAVING_FORGETS_WHAT_WAS_PASSED /* ALONE, queue.go: dequeue */
		mine = passed[me];
#endif
		passed[me] = NONE;
		if :: mine == NONE -> goto done :: else fi
	};

holding: /* also what was passed to a waiter that had gone, which nobody works with */
	atomic {
#ifndef BROKEN_TRUST_UNTIL_THE_ANSWER /* ALONE, hold.go: close */
		trusts[p] = false;
#endif
		if
		:: holder[p] == mine && unsettled[p] == 0 && QUEUED(p) && heeds[first[p]] ->
			next = first[p];
#ifdef BROKEN_VACATED_BEFORE_THE_PASS /* ALONE, hold.go: giveUp */
			vacate();
#endif
			if /* the pass */
			:: CAN_TAKE(mine) -> mine = name[next]; take(mine); goto given
			:: NO_ANSWER; undone(name[next], mine); rename(next); woken[next] = true; goto done
			fi
		:: true /* it is the turn of another program, the backend cannot pass, or nobody waits */
		fi
	};
	do
	:: atomic { LOST_ANSWER(mine) }
	:: atomic { drop(mine); break }
	od;
	atomic { vacate(); goto done };

given: /* the answer to the pass */
	atomic {
		hold(mine);
		if
		:: stage[next] == waits -> passed[next] = mine;
#ifndef BROKEN_PASS_WAKES_NOBODY /* ALONE, pass.go: endPass */
			woken[next] = true;
#endif
#ifndef BROKEN_PASSED_TO_ONE_THAT_IS_GONE /* ALONE, pass.go: give */
		:: else -> next = NONE; goto holding
#else
		:: else
#endif
		fi
	};

done:	atomic { mine = NONE; next = NONE; working-- }
}

/* Messages are lost, late, doubled and needless: they come at any time, and from some time on none comes. So do answers to old polls. */
proctype messages() {
end:	do
	:: atomic { QUEUED(0) && !woken[first[0]] -> nudge(0) }
	:: atomic { QUEUED(1) && !woken[first[1]] -> nudge(1) }
	:: break
	od
}

/* Polls come again and again while somebody waits. */
proctype poller() {
end:	do
	:: atomic {
		owner == FREE && (QUEUED(0) || QUEUED(1));
#ifndef BROKEN_POLL_WAKES_NOBODY /* FAIR, hub.go: poll */
		nudge(0); nudge(1)
#endif
		}
	od
}

proctype impatience() {
	byte w;
	do
	:: atomic {
		select(w : 0 .. LAST);
		if
		:: mishaps < MISHAPS && stage[w] == waits && !givesUp[w] -> mishaps++; givesUp[w] = true; w = 0
		:: else -> w = 0; working--; break
		fi
		}
	od
}

init {
	byte w;
	atomic {
		first[0] = 1; first[1] = HERE + 2;
		for (w : 1 .. LAST) {
			name[w] = w;
			if :: w != HERE + 1 -> run waiter(w > HERE, w) :: else fi
		}
		w = 0;
		run impatience();
#ifndef ALONE
		run messages();
		run poller()
#endif
	};
	atomic {
		working == 0 -> /* nothing is left that nobody holds */
			assert(owner == FREE && holder[0] == NONE && holder[1] == NONE && unsettled[0] == 0 && unsettled[1] == 0);
			over = true
	}
}

/* Each waiter gets the object or gives up, and everything comes to an end. So nobody waits for ever while the object is free. */
ltl everybody_is_served { <> over }
