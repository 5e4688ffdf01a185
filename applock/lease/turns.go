package lease

import "time"

// turns are a row of turns that waiters of this program take one after the other. Meanwhile the polls of other programs never see the
// object free. So the row ends when every waiter of its beginning has had a turn, and the program leaves the object alone for a moment. A
// program with rivals then waits before its next attempt; the more recent its last row, the longer.
type turns struct {
	began  time.Time // zero: no row
	last   time.Time // when a turn ended
	quota  int
	handed int
	// ended is when the last row ended, and length how long it was.
	ended  time.Time
	length time.Duration
	// Until pause this program leaves the object to others.
	pause time.Time
	// outsiders is when another program was last seen to hold the object, and other is that program.
	outsiders time.Time
	other     string
	// rivals is when other last changed from one program to another.
	rivals time.Time
}

const (
	// leastRow is the shortest row if other programs want the object, and longRow if none is known.
	leastRow = 50 * time.Millisecond
	longRow  = 2 * time.Second
	// mostTurns limits a row of very quick turns.
	mostTurns = 10_000
	// rowGap is the longest time without a holder here within a row.
	rowGap = 100 * time.Millisecond
	// othersPause is how long this program leaves the object alone: several polls of a waiter that came within the last minute.
	othersPause = 50 * time.Millisecond
	// courtesy is the delay right after a row of this program.
	courtesy = 4 * othersPause
	// remembered is how long other programs are remembered.
	remembered = time.Minute
)

// taken records that a waiter of this program has the object, while others of it wait.
func (t *turns) taken(waiting int) {
	if t.began.IsZero() {
		t.began, t.quota, t.handed = time.Now(), max(1, waiting), 0
		return
	}
	t.handed++
}

// refused records that an operator of another program has the object.
func (t *turns) refused(operator string) {
	t.end()
	t.outsiders = time.Now()
	program := programOf(operator)
	if t.other != "" && t.other != program {
		t.rivals = t.outsiders
	}
	t.other = program
}

func (t *turns) end() {
	if !t.began.IsZero() {
		t.ended, t.length = time.Now(), time.Since(t.began)
		t.began = time.Time{}
	}
}

// delay is how long this program waits before it asks for a free object: courtesy right after its last row, a quarter of that after one more
// row's length, and ever less. (Its own rounds would be no measure: a long wait would make the program wait even longer.) It is zero if no
// two other programs are known to take turns.
func (t *turns) delay() time.Duration {
	if t.length <= 0 || t.rivals.IsZero() || time.Since(t.rivals) >= remembered {
		return 0
	}
	lengths := 1 + float64(time.Since(t.ended))/float64(t.length)
	return time.Duration(float64(courtesy) / (lengths * lengths))
}

// isPast reports whether the last turn and the pause after it are long over.
func (t *turns) isPast() bool {
	return time.Since(t.last) >= rowGap && !time.Now().Before(t.pause)
}

// isOver reports whether the row has lasted long enough.
func (t *turns) isOver() bool {
	least := longRow
	if time.Since(t.outsiders) < remembered {
		least = leastRow
	}
	lasted := time.Since(t.began)
	isLong := t.handed >= mostTurns || t.handed > 0 && lasted >= longRow
	return !t.began.IsZero() && (isLong || t.handed >= t.quota && lasted >= least)
}
