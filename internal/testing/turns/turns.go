// Package turns judges whether programs that want the same object take turns.
package turns

import (
	"fmt"
	"slices"
	"time"
)

// Turn is a hold of a program, since the beginning of the test.
type Turn struct {
	Program  int
	From, To time.Duration
}

// Verdict is about the rows of turns, each of one program.
type Verdict struct {
	Rows int
	// Longest is the longest row, from its first turn's beginning to that of its last one.
	Longest time.Duration
	// Idle is the time between rows.
	Idle time.Duration
	// Without is the longest time of a program without a turn.
	Without time.Duration
	// PassedOver are the first turns of rows of programs that had one while another program, which waited, has had none in between.
	PassedOver []Turn
}

func (v Verdict) String() string {
	idle := v.Idle / time.Duration(max(v.Rows-1, 1))
	return fmt.Sprintf("%d rows, longest %s, idle between two %s, longest without %s, passed over %d",
		v.Rows, v.Longest.Round(time.Millisecond), idle.Round(10*time.Microsecond), v.Without.Round(time.Millisecond), len(v.PassedOver))
}

// Judge judges the turns of programs that always have waiters. A program waits when listed has gone by since its last turn.
func Judge(all []Turn, listed time.Duration) (v Verdict) {
	slices.SortFunc(all, func(a, b Turn) int { return int(a.From - b.From) })
	last := map[int]Turn{} // of each program
	hasHad := map[[2]int]bool{}
	var row, before Turn
	for i, turn := range all {
		former, isLater := last[turn.Program]
		v.Without = max(v.Without, turn.From-former.To)
		if i == 0 || before.Program != turn.Program {
			v.Rows++
			if i > 0 {
				v.Idle += turn.From - before.To
			}
			for other, theirs := range last {
				if isLater && other != turn.Program && !hasHad[[2]int{turn.Program, other}] && theirs.To+listed < former.To {
					v.PassedOver = append(v.PassedOver, turn)
				}
				hasHad[[2]int{turn.Program, other}] = false
				hasHad[[2]int{other, turn.Program}] = true
			}
			row = turn
		}
		v.Longest = max(v.Longest, turn.From-row.From)
		last[turn.Program], before = turn, turn
	}
	for _, turn := range last {
		v.Without = max(v.Without, before.To-turn.To)
	}
	return v
}

// Between returns how many turns began in a span.
func Between(all []Turn, from, to time.Duration) (n int) {
	for _, turn := range all {
		if from <= turn.From && turn.From < to {
			n++
		}
	}
	return n
}
