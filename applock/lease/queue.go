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
	// lastAnswer is how old the answer for a waiter may be, and how long a newer one may take.
	lastAnswer = time.Second
	// lookAgain is when a waiter makes an attempt even if nothing has woken it.
	lookAgain = 5 * time.Minute
	// askAgain is the pause after a failed attempt. It doubles up to askAgainSlowest.
	askAgain        = 20 * time.Millisecond
	askAgainSlowest = 2 * time.Second
	// unlistedWait is how long a new waiter is neither listed nor polled for, unless it is refused because a holder elsewhere has the object.
	unlistedWait = 50 * time.Millisecond
	// unlistedBehind is the same if the program has listed another waiter for the object. Other programs see that one, and with short turns
	// this waiter gets the object before it would be listed.
	unlistedBehind = time.Second
	// outagePatience is how long a waiter waits for an unreachable backend.
	outagePatience = 30 * time.Second
)

// objectState is what this program knows of one object: the hold here, the queue of waiters in the order of their calls, and the unsettled
// takes. It exists while there is any of them. The mutex of Leases guards it.
type objectState struct {
	holder *hold
	queue  list.List // of *waiter
	// unsettled counts abandoned takes that may have to be undone, and sets that take the object in passing. Until it is zero, nobody has a
	// turn. missed is true if that has kept the first waiter from its attempt.
	unsettled int
	missed    bool
	// asking is true while the first waiter makes an attempt.
	asking bool
	// seen is the last known holder, here or elsewhere, and seenAt when it was seen.
	seen   applock.Holder
	seenAt time.Time
	// elsewhere is true after a refusal, until there is a hold here.
	elsewhere bool
	// turns are the row of turns of this program. fading is true while the object is about to be forgotten.
	turns  turns
	fading bool
	// failure is why the last attempt failed, nil after a refusal.
	failure error
	// news, if not nil, is closed when one of the above changes.
	news chan struct{}
}

// waiter is a caller in the queue of an object. The mutex of Leases guards the fields from claim on, except the claim's object.
type waiter struct {
	asker   context.Context //nolint:containedctx // the caller's, for the lease that it gets by a pass
	element *list.Element
	wake    chan struct{}
	came    time.Time

	claim claim
	// heeds is true while the waiter sleeps and can get the object by a pass. gone is true when it has left.
	heeds, gone bool
	// passed is the result of a pass, until the waiter takes it.
	passed *passed
}

// rename gives a waiter a new name if an attempt with this result has used up its own; the mutex is held.
func (w *waiter) rename(ended error) {
	if isSpent(w.claim, ended) {
		w.claim.owner.Operator = uniqueName()
	}
}

// state returns an object's state, and creates it if needed; the mutex is held.
func (l *Leases) state(object applock.Object) *objectState {
	found := l.objects[object]
	if found == nil {
		found = &objectState{}
		l.objects[object] = found
	}
	return found
}

// first returns the waiter at the head of the queue.
func (s *objectState) first() *waiter {
	if s.queue.Len() == 0 {
		return nil
	}
	first, _ := s.queue.Front().Value.(*waiter)
	return first
}

// tell wakes the callers that wait for news of the object.
func (s *objectState) tell() {
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
}

// see records the holder of the object.
func (s *objectState) see(holder applock.Holder, elsewhere bool) {
	s.seen, s.seenAt, s.elsewhere, s.failure = holder, time.Now(), elsewhere, nil
}

// verdict says why a waiter does not have the object, as far as this program knows, and nil without an answer. A holder counts if it was
// seen since the waiter came, or if it is still waited for. A holder that was seen before an outage began may be gone.
func (s *objectState) verdict(self *waiter, outage outage) error {
	if s.holder != nil {
		s.see(s.holder.asHolder(), false)
	}
	wasSeen := s.elsewhere || !s.seenAt.Before(self.came)
	switch {
	case s.failure != nil && (isOutage(s.failure) || !wasSeen):
		return s.failure
	case wasSeen && (s.holder != nil || outage.err == nil || s.seenAt.After(outage.since)):
		return &applock.HeldError{Object: self.claim.object, Holder: s.seen}
	}
	return outage.err
}

// advance wakes the first waiter if it is its turn now, and forgets an unused object; the mutex is held.
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

// forget forgets an unused object. If this program's row of turns was recent, forget waits for a moment: a waiter that comes meanwhile
// continues the row. The mutex is held.
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

// vacate removes a hold from its object.
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

// nudge wakes the first waiter for an object that is said to be free since asked. If the object is held here, the hold may be lost, and is
// verified.
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

// told is nudge for a message. If another program is to ask first, this one waits for a moment without news of the object: then the other
// one does not want the object any more, or holds it.
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

// dequeue removes a waiter. An object that was passed on to it meanwhile goes to the next one.
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

// beginAsking returns the claim for the waiter's attempt. endAsking records the attempt's result.
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

// failureOf returns why the waiter's last attempt failed, or nil if the object was held. Only after nil does a wake end the waiter's sleep.
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

// learn records the result of an attempt: the holder, or the failure.
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

// awaitNews returns why the object cannot be had, or a channel that is closed when more is known.
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
