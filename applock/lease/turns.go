package lease

import (
	"context"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// Crowd is a [Backend] that knows the waiters of other programs, whose polls and messages say whose turn it is.
type Crowd interface {
	// Others returns how many other programs have a waiter listed for the object: those ahead have been listed longer than this program, and
	// the others are behind. If this program is not listed, all are ahead. Programs that were listed in one tick of the backend's clock share
	// a place: both are told that it is their turn.
	Others(ctx context.Context, object applock.Object) (ahead, behind int, err error)
}

// Peeker is a Crowd whose polls cost the more the more waiters this program has, and which can tell of one object for little.
type Peeker interface {
	Crowd

	// Peek tells whether an object is free for which a waiter of this program is listed, and whether it is this program's turn.
	Peek(ctx context.Context, object applock.Object) (isFree, isFirst bool, err error)
}

// row is a row of turns that callers of this program take one after the other. Meanwhile other programs never see the object free for long.
// So once the row has lasted longRow and others wait, the program releases the object and leaves it to them until it is its turn.
type row struct {
	began time.Time
	turns int
	ended time.Time // when the last turn ended
	// others is true if other programs waited when it was last asked, at asked. asking is true while it is asked.
	others bool
	asked  time.Time
	asking bool
}

// othersTurn is since when the free object has been another program's turn, and when that was last told, after which poll. ahead is how many
// programs have their turn before this one, as far as is known. timed is true while a timer runs that asks again.
type othersTurn struct {
	since, told time.Time
	poll, ahead int
	timed       bool
}

const (
	// longestRow is promised. After longRow it is asked every othersPause whether others wait: one plain read for some hundred turns.
	longestRow  = 500 * time.Millisecond
	othersPause = 100 * time.Millisecond
	longRow     = longestRow - othersPause
	// rowGap is the longest time without a holder here within a row.
	rowGap = 100 * time.Millisecond
	// aMoment is how long a program leaves an object to others if nobody knows whether they wait: a few of their pauses between polls.
	aMoment = 50 * time.Millisecond
	// patience is how long this program waits for another one whose turn it is, beyond the time that this one needs to learn of that: less than a
	// row. So a program that does not want its turn any more, or is gone, costs the others less than half of their turns until it is not listed
	// any more.
	patience = longestRow / 2
	// longPause is how long a program leaves an object to others that wait, if it does not learn whose turn it is.
	longPause = 2 * time.Second
	// askLimit limits the question whether others wait.
	askLimit = 500 * time.Millisecond
)

// taken returns the row with the turn of one more caller of this program.
func (r *row) taken() *row {
	if r == nil || !r.ended.IsZero() && r.isPast() {
		r = &row{began: time.Now(), asking: r != nil && r.asking}
	}
	r.turns++
	r.ended = time.Time{}
	return r
}

// isLong reports whether the row ends if others wait.
func (r *row) isLong() bool { return r != nil && time.Since(r.began) >= longRow }

// isToAsk reports whether it is time to ask whether others wait: so early that the answer, and then a pass that is under way, has come when the row
// is long.
func (s *objectState) isToAsk() bool {
	return s.row != nil && !s.row.asking && time.Since(s.row.asked) >= othersPause &&
		time.Since(s.row.began) >= longRow-2*s.objects.queue.leases.hub.roundTrip()
}

// isPast reports whether the last turn is long over.
func (r *row) isPast() bool { return r == nil || time.Since(r.ended) >= rowGap }

// learnOthers asks whether others wait for an object that is held here, if that was not asked for othersPause and decides on the end of a row: when
// a turn begins, and when one ends that was long, and somebody here waits for the next one.
func (l *Leases) learnOthers(ctx context.Context, h *hold, isEnd bool) {
	if l.crowd == nil || !l.queue.beginAskingForOthers(h, isEnd) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	ahead, behind, err := l.crowd.Others(ctx, h.grant.Object)
	if err != nil {
		l.logger.LogAttrs(ctx, slog.LevelInfo, "it is unknown whether other programs wait, as if they did",
			slog.String("object", h.grant.Object.String()), slog.Any("error", err))
	}
	l.queue.endAskingForOthers(h, ahead+behind > 0 || err != nil)
}

func (q *queue) beginAskingForOthers(h *hold, isEnd bool) bool {
	objects, unlock := q.lock()
	defer unlock()
	state := objects.states[h.grant.Object]
	if state == nil || state.holder != h || !state.isToAsk() || isEnd && (state.first() == nil || !state.row.isLong()) {
		return false
	}
	state.row.asking = true
	return true
}

func (q *queue) endAskingForOthers(h *hold, others bool) {
	objects, unlock := q.lock()
	defer unlock()
	if state := objects.states[h.grant.Object]; state != nil && state.row != nil {
		state.row.others, state.row.asked, state.row.asking = others, time.Now(), false
	}
}

// isRowOver reports whether the row has lasted long enough. Where nobody knows whether others wait, they might, and a row has two turns at least.
func (s *objectState) isRowOver() bool {
	leases := s.objects.queue.leases
	switch {
	case !leases.isShared || !s.row.isLong():
		return false
	case leases.crowd != nil:
		return s.row.others
	}
	return s.row.turns > 1 && time.Since(s.row.began) >= longestRow
}

// moveBack takes this program's waiters off the list, before the release that ends a row. They are listed again, behind those who wait by then:
// so each of these has a row before this program's next one.
func (l *Leases) moveBack(ctx context.Context, h *hold) {
	if listed := l.queue.listedAtEnd(h); len(listed) > 0 {
		l.lister.moveBack(ctx, listed)
	}
}

// listedAtEnd returns the names that the waiters are listed under if the row is over.
func (q *queue) listedAtEnd(h *hold) (listed []listingKey) {
	objects, unlock := q.lock()
	defer unlock()
	state := objects.states[h.grant.Object]
	if state == nil || state.holder != h || !state.isRowOver() {
		return nil
	}
	for w := range state.firsts() {
		if w.listing != nil {
			listed = append(listed, w.listing.key)
		}
	}
	return listed
}

// endRow ends the row if it is over. From then on the object is left to others.
func (s *objectState) endRow() {
	if !s.isRowOver() {
		return
	}
	s.row = nil
	if s.objects.queue.leases.crowd != nil {
		s.leaveToOthers(longPause)
	} else {
		s.leaveToOthers(s.objects.queue.leases.hub.pauseFor(aMoment))
	}
}

// leaveToOthers makes a pause, after which it is asked whose turn it is, or where nobody knows, for the object.
func (s *objectState) leaveToOthers(pause time.Duration) {
	s.pause = time.Now().Add(pause)
	s.later(pause, func() {
		s.notify()
		leases := s.objects.queue.leases
		switch first := s.first(); {
		case first == nil || s.isLeft():
		case leases.crowd != nil:
			leases.hub.wakePoller()
		default:
			first.wake()
		}
	})
}

// isLeft reports whether this program leaves the object to others.
func (s *objectState) isLeft() bool { return time.Now().Before(s.pause) }

// offer tells of an object that is said to be free since asked, and whose turn it is. If it is another program's, this one asks after some
// patience, in which no poll finds the object held: then the other one does not want it any more.
func (q *queue) offer(object applock.Object, rank Rank, asked time.Time) {
	objects, unlock := q.lock()
	defer unlock()
	state := objects.states[object]
	switch {
	case state == nil:
	case state.holder != nil:
		if state.holder.began.Before(asked) { // it may be lost
			state.holder.verify()
		}
	case state.first() == nil:
	case rank == First || rank == Later && state.isPassedOver(asked):
		state.pause = time.Time{}
		state.advance()
	case rank == Unranked && !state.isLeft():
		state.advance()
	}
}

// seeHeld tells of an object that is not free: another program has had its turn, or has it now.
func (q *queue) seeHeld(object applock.Object) {
	objects, unlock := q.lock()
	defer unlock()
	if state := objects.states[object]; state != nil {
		state.endOthersTurn()
	}
}

// endOthersTurn has the next turn of another program counted from its beginning.
func (s *objectState) endOthersTurn() {
	if s.othersTurn != nil {
		s.othersTurn.told = time.Time{}
	}
}

// isPassedOver reports whether the object is another program's turn for longer than patience. Otherwise it is left to that one.
func (s *objectState) isPassedOver(asked time.Time) bool {
	long, poll := s.objects.queue.leases.hub.patience()
	if s.othersTurn == nil {
		s.othersTurn = &othersTurn{}
	}
	turn, now := s.othersTurn, time.Now()
	// A message, whose time is long past, says that somebody has had the object.
	if asked.Before(turn.told) || poll > turn.poll+1 || now.Sub(turn.told) >= patience {
		turn.since, turn.ahead = now, 1
	}
	turn.poll, turn.told = poll, now
	left := time.Duration(turn.ahead)*long - now.Sub(turn.since)
	if left <= 0 {
		turn.since = now
		return true
	}
	s.pause = now.Add(left)
	if !turn.timed {
		turn.timed = true
		s.later(min(left, patience/2), func() {
			turn.timed = false
			leases := s.objects.queue.leases
			leases.hub.wakePoller()
			if s.isLeft() && s.first() != nil && turn.ahead == 1 {
				since := turn.since
				leases.background.Go(func() { leases.learnPlace(s.object, since) })
			}
		})
	}
	return false
}

// learnPlace asks how many programs are ahead of this one, when the first of them is late: each has its turn before this one. The answer counts
// if the object has been that one's turn since then.
func (l *Leases) learnPlace(object applock.Object, since time.Time) {
	ctx, cancel := context.WithTimeout(l.stopped, askLimit)
	defer cancel()
	ahead, _, err := l.crowd.Others(ctx, object)
	if err != nil {
		return // another poll will tell
	}
	objects, unlock := l.queue.lock()
	defer unlock()
	if state := objects.states[object]; state != nil && state.othersTurn != nil && state.othersTurn.since.Equal(since) {
		state.othersTurn.ahead = max(ahead, 1)
	}
}
