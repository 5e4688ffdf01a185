/*
 * Programs that always want one object take rows of turns, as package lease does: between two rows of a program each other one that was
 * listed has had one. A row ends at any time once others are listed, and a program is listed at any time. It may die while it waits, and
 * stays listed then. Time is left out: a program that lives and is first takes the object before the patience of the others ends. So is a
 * caller that finds the object free when it comes.
 */

#define NONE PROGRAMS

byte owner = NONE;
bool dead[PROGRAMS];
bool listed[PROGRAMS];
/* owed[p] has the programs that were listed when p's last row ended, and have had none since. */
byte owed[PROGRAMS];
chan line = [PROGRAMS] of { byte }; /* the listed programs, the longest listed first */
byte deaths = 0;

#define BIT(p) (1 << (p))

inline take(p) {
	byte q;
	atomic {
		owner = p;
		for (q : 0 .. PROGRAMS - 1) {
			assert(q == p || dead[q] || !(owed[p] & BIT(q)));
			owed[q] = owed[q] & ~BIT(p)
		}
		q = 0
	}
}

/* Is everybody dead who is before p in the line? */
inline ask(p) {
	byte n, other;
	n = len(line); isTurn = true; isAhead = true;
	do
	:: n > 0 ->
		line ? other; line ! other; n--;
		if :: other == p -> isAhead = false :: else fi;
#ifndef BROKEN_LATER_ASKS_AT_ONCE /* ROWS, turns.go: isPassedOver */
		if :: isAhead && !dead[other] -> isTurn = false :: else fi
#else
		skip
#endif
	:: else -> break
	od;
	other = 0
}

proctype program(byte p) {
	bool isTurn, isAhead;
	do
	:: atomic { owner != p && !listed[p] -> listed[p] = true; line ! p }
	:: atomic { owner != p && deaths < DEATHS && listed[p] -> dead[p] = true; deaths++; break }
	:: atomic {
		owner == NONE && listed[p] -> ask(p);
		if :: isTurn -> take(p) :: else fi;
		isTurn = false; isAhead = false
		}
	:: atomic {
		owner == p && len(line) > listed[p] -> /* others wait: the row ends */
#ifndef BROKEN_PLACE_IS_KEPT /* ROWS, turns.go: moveBack */
		if :: listed[p] -> line ?? eval(p); listed[p] = false :: else fi
#endif
		};
		atomic {
			byte q;
			owner = NONE; owed[p] = 0;
			for (q : 0 .. PROGRAMS - 1) {
				if :: q != p && listed[q] -> owed[p] = owed[p] | BIT(q) :: else fi
			}
			q = 0
		}
	od
}

init {
	byte p;
	atomic { for (p : 0 .. PROGRAMS - 1) { run program(p) } }
}
