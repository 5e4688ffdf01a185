package lease

import (
	"container/list"
	"context"
	"errors"
	"math"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// forever is the wait without limit.
	forever = time.Duration(math.MaxInt64)
	// lastAnswer is how old the answer to a waiter may be, and how long a newer one may take.
	lastAnswer = time.Second
	// lookAgain is after what time a waiter asks for itself, should everything else have failed to wake it.
	lookAgain = 5 * time.Minute
	// askAgain is after what time a waiter asks again after an attempt that came to nothing. It doubles up to
	// askAgainSlowest.
	askAgain        = 20 * time.Millisecond
	askAgainSlowest = 2 * time.Second
	// unlistedWait is how long a waiter is not listed, and nobody polls for it, unless somebody elsewhere holds the object.
	unlistedWait = 50 * time.Millisecond
	// unlistedBehind is the same for one behind whom the program has listed another one for this object: others hear of that one, and
	// where turns are short it has the object before that.
	unlistedBehind = time.Second
	// outagePatience is for how long a waiter waits for a backend that cannot be reached.
	outagePatience = 30 * time.Second
)

// objectState is what this program knows of one object: the local hold, the queue of those who wait here, first come
// first, and the takes whose outcome is not settled. It is there while there is any of them. The mutex of Leases guards
// it.
type objectState struct {
	holder *hold
	queue  list.List // of *waiter
	// unsettled counts the takes that were abandoned and may still have to be undone, and those of sets that take it in passing.
	// Until then it is nobody's turn. missed is true once that has kept from asking who is first.
	unsettled int
	missed    bool
	// asking is true while who is first asks.
	asking bool
	// seen is who was seen last to hold the object, here or elsewhere, and when.
	seen   applock.Holder
	seenAt time.Time
	// elsewhere is true from a refusal until somebody holds the object here.
	elsewhere bool
	// turns are those of this program, in a row. fading is true while the object is about to be forgotten.
	turns  turns
	fading bool
	// failure is why the last attempt came to nothing, nil if it was refused.
	failure error
	// news, if somebody waits for it, is closed when one of the above changes.
	news chan struct{}
}

// waiter is a caller in the queue of an object. The fields from claim on are guarded by the mutex of Leases, but for the claim's object.
type waiter struct {
	asker   context.Context //nolint:containedctx // the caller's, for the lease that it gets by a pass
	element *list.Element
	wake    chan struct{}
	came    time.Time

	claim claim
	// heeds is true while the waiter sleeps and can get the object from another one's release. gone is true when it has left.
	heeds, gone bool
	// passed is what was passed on to it, until it takes it.
	passed *passed
}

// rename gives a waiter a new name if the attempt that has ended so has spent its own; the mutex is held.
func (w *waiter) rename(ended error) {
	if isSpent(w.claim, ended) {
		w.claim.owner.Operator = uniqueName()
	}
}

// state returns that of an object; the mutex is held.
func (l *Leases) state(object applock.Object) *objectState {
	found := l.objects[object]
	if found == nil {
		found = &objectState{}
		l.objects[object] = found
	}
	return found
}

// first returns who is at the head of the queue.
func (s *objectState) first() *waiter {
	if s.queue.Len() == 0 {
		return nil
	}
	first, _ := s.queue.Front().Value.(*waiter)
	return first
}

// tell wakes those who wait for news of the object.
func (s *objectState) tell() {
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
}

// see notes who holds the object.
func (s *objectState) see(holder applock.Holder, elsewhere bool) {
	s.seen, s.seenAt, s.elsewhere, s.failure = holder, time.Now(), elsewhere, nil
}

// verdict says why a waiter does not have the object, as far as this program knows: nil if there was no answer yet. Somebody
// holds it who was seen to since the waiter came, or before and is still waited for. But who was seen before an outage
// began may be gone.
func (s *objectState) verdict(self *waiter, outage outage) error {
	if s.holder != nil {
		s.see(s.holder.asHolder(), false)
	}
	wasSeen := s.elsewhere || !s.seenAt.IsZero() && !s.seenAt.Before(self.came)
	switch {
	case s.failure != nil && (isOutage(s.failure) || !wasSeen):
		return s.failure
	case wasSeen && (s.holder != nil || outage.err == nil || s.seenAt.After(outage.since)):
		return &applock.HeldError{Object: self.claim.object, Holder: s.seen}
	}
	return outage.err
}

// advance wakes who is first if it is its turn now, and forgets an object that nobody is concerned with; the mutex is
// held.
func (l *Leases) advance(object applock.Object, state *objectState) {
	first := state.first()
	state.tell()
	switch {
	case state.holder != nil:
	case state.unsettled > 0:
		state.missed = true
	case l.isFreeForOthers(state) || first == nil:
		l.forget(object, state)
	default:
		first.nudge()
	}
}

// forget forgets an object without holder and waiters. If this program has just had its turns it waits for a moment: a waiter
// that comes meanwhile continues them. The mutex is held.
func (l *Leases) forget(object applock.Object, state *objectState) {
	isUnused := state.holder == nil && state.unsettled == 0 && state.first() == nil
	switch {
	case !isUnused || state.fading:
	case (!l.isShared || state.turns.isPast()) && l.objects[object] == state:
		delete(l.objects, object)
	default:
		state.fading = true
		time.AfterFunc(rowGap, func() {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			state.fading = false
			l.forget(object, state)
		})
	}
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake is pending
	}
}

// vacate takes a hold off its object.
func (l *Leases) vacate(h *hold) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[h.grant.Object]
	if state == nil || state.holder != h {
		return
	}
	state.see(h.asHolder(), false)
	state.turns.last = time.Now()
	state.holder = nil
	l.advance(h.grant.Object, state)
}

// nudge wakes who is first in the queue of an object that is said to be free since asked. If it is held here, its
// holder may have lost it without knowing.
func (l *Leases) nudge(object applock.Object, asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[object]
	switch {
	case state == nil:
	case state.holder != nil && state.holder.cause == nil && state.holder.began.Before(asked):
		l.verify(state.holder)
	case state.first() == nil || time.Now().Before(state.turns.pause):
	case state.holder == nil && state.turns.delay() > 0:
		l.leaveToOthers(state, state.turns.delay())
	default:
		state.first().nudge()
	}
}

// told is nudge by a message. Where another program is to ask first, this one asks when it has not heard of the object for a
// moment: then the other one does not want it any more, or holds it.
func (l *Leases) told(message Message, moment time.Duration) {
	l.mutex.Lock()
	state := l.objects[message.Object]
	isWaiting := state != nil && state.holder == nil && state.first() != nil
	switch {
	case isWaiting && message.Rank == First:
		state.turns.pause = time.Time{}
		state.first().nudge()
	case isWaiting && message.Rank == Later:
		l.leaveToOthers(state, moment)
	}
	l.mutex.Unlock()
	if !isWaiting || message.Rank == Unranked {
		l.nudge(message.Object, time.Now().Add(-stale))
	}
}

func (l *Leases) enqueue(asker context.Context, claim claim) (*waiter, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, applock.ErrClosed
	}
	self := &waiter{asker: asker, claim: claim, wake: make(chan struct{}, 1), came: time.Now()}
	self.element = l.state(claim.object).queue.PushBack(self)
	return self, nil
}

// dequeue removes a waiter. A hold that was passed on to it meanwhile goes to the next one.
func (l *Leases) dequeue(self *waiter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.claim.object]
	state.queue.Remove(self.element)
	self.gone = true
	if self.passed != nil && self.passed.lease != nil {
		l.abandon(self.passed.lease)
	}
	l.advance(self.claim.object, state)
}

func (l *Leases) isTurnOf(self *waiter) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.claim.object]
	if state.holder != nil || state.first() != self || time.Now().Before(state.turns.pause) {
		return false
	}
	state.missed = state.unsettled > 0
	return !state.missed
}

// beginAsking returns what the waiter's attempt is to ask for. endAsking notes what the attempt has ended with.
func (l *Leases) beginAsking(self *waiter) claim {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.objects[self.claim.object].asking = true
	return self.claim
}

func (l *Leases) endAsking(self *waiter, ended error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.objects[self.claim.object].asking = false
	self.rename(ended)
}

// failureOf returns why the waiter's own last attempt failed, or nil if the object was held. Only after nil does the waiter heed a
// wake.
func (l *Leases) failureOf(self *waiter) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.claim.object]
	self.heeds = self.claim.alone && (state.holder != nil || state.first() != self || state.failure == nil)
	if state.holder != nil || state.first() != self {
		return nil
	}
	return state.failure
}

// learn remembers what an attempt has shown: who held the object, or why nobody could tell.
func (l *Leases) learn(self *waiter, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.claim.object]
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		state.see(held.Holder, true)
		state.turns.refused(held.Holder.Owner.Operator)
	case isBusy(err) || isOutage(err):
		state.failure = err
	}
	state.tell()
}

func (l *Leases) verdict(self *waiter) error {
	outage := l.waiters.outage()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.objects[self.claim.object].verdict(self, outage)
}

// awaitNews returns a channel that is closed when there is more to know, or why the object is not to be had.
func (l *Leases) awaitNews(self *waiter) (news <-chan struct{}, verdict error) {
	outage := l.waiters.outage()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.claim.object]
	if verdict := state.verdict(self, outage); verdict != nil {
		return nil, verdict
	}
	if state.news == nil {
		state.news = make(chan struct{})
	}
	return state.news, nil
}
