package applock

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// forever is the wait without limit.
	forever = time.Duration(math.MaxInt64)
	// lastAnswer is how old the answer to a waiter may be, and how long a newer one may take.
	lastAnswer = time.Second
	// lookAgain is after what time a waiter asks for itself, should everything else have failed to wake it.
	lookAgain = 5 * time.Minute
)

// objectState is what this program knows of one object: the local hold, the queue of those who wait here, first come
// first, and the takes whose outcome is not settled. It is there while there is any of them. The mutex of Leases guards
// it.
type objectState struct {
	holder *hold
	queue  list.List // of *waiter
	// unsettled counts the takes that were abandoned and may still have to be undone. Until then it is nobody's turn.
	unsettled int
	// refused is who held the object at the last refusal.
	refused Holder
}

// waiter is a caller in the queue of an object.
type waiter struct {
	object  Object
	owner   Owner
	element *list.Element
	wake    chan struct{}
}

// state returns that of an object; the mutex is held.
func (l *Leases) state(object Object) *objectState {
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

// holderNow returns who is known to have the object, or to be about to, as far as asking is concerned.
func (s *objectState) holderNow(asking *waiter) Holder {
	first := s.first()
	switch {
	case s.holder != nil:
		return Holder{Owner: s.holder.grant.Owner, ExpiresAt: s.holder.grant.ExpiresAt}
	case s.refused.Operator != "" || first == nil || first == asking:
		return s.refused
	}
	return Holder{Owner: first.owner}
}

// advance wakes who is first if it is its turn now, and forgets an object that nobody is concerned with; the mutex is
// held.
func (l *Leases) advance(object Object, state *objectState) {
	first := state.first()
	switch {
	case state.holder != nil || state.unsettled > 0:
	case first == nil:
		delete(l.objects, object)
	default:
		first.nudge()
	}
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been told
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
	state.holder = nil
	l.advance(h.grant.Object, state)
}

// nudge wakes who is first in the queue of an object that is said to be free since asked. If it is held here, its
// holder may have lost it without knowing.
func (l *Leases) nudge(object Object, asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[object]
	switch {
	case state == nil:
	case state.holder != nil && state.holder.cause == nil && state.holder.began.Before(asked):
		l.verify(state.holder)
	case state.first() != nil:
		state.first().nudge()
	}
}

// wait is one caller's wait for an object.
type wait struct {
	leases  *Leases
	claim   claim
	self    *waiter
	maxWait time.Duration
	attempt func(limited context.Context) error
	asked   time.Time // when the last attempt began
	listed  bool      // with the hub
}

// queue makes attempts until one succeeds or fails otherwise than by a *HeldError: when it is this caller's turn here,
// and each time that the object could be free. A maxWait of zero asks once.
func (l *Leases) queue(
	ctx context.Context, claim claim, maxWait time.Duration, attempt func(limited context.Context) error,
) error {
	self, err := l.enqueue(claim)
	if err != nil {
		return err
	}
	defer l.dequeue(self)
	limited, cancel := withLimit(ctx, maxWait)
	defer cancel()
	w := &wait{leases: l, claim: claim, self: self, maxWait: maxWait, attempt: attempt}
	defer w.unlist() //nolint:contextcheck // also when the caller has gone
	for {
		if done, err := w.tryTurn(limited); done {
			return err
		}
		if maxWait == 0 {
			return l.refusal(self)
		}
		if err := w.listOnce(limited); err != nil {
			return err
		}
		if err := l.pause(limited, self); err != nil {
			return err
		}
		if limited.Err() != nil {
			return w.lastAttempt(ctx)
		}
	}
}

// withLimit returns a context that ends with ctx, and after maxWait if that is a limit.
func withLimit(ctx context.Context, maxWait time.Duration) (context.Context, context.CancelFunc) {
	if maxWait <= 0 || maxWait == forever {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, maxWait)
}

// tryTurn makes an attempt if it is this caller's turn. It reports whether the wait is over, and with what.
func (w *wait) tryTurn(limited context.Context) (done bool, err error) {
	if !w.leases.isTurnOf(w.self) {
		return false, nil
	}
	w.asked = time.Now()
	err = w.attempt(limited)
	if err == nil {
		return true, nil
	}
	if w.leases.noteRefusal(w.self, err) || w.isToWait(err) || endedBy(limited, err) {
		return false, nil
	}
	return true, err
}

// isToWait reports whether an attempt that was not refused is to be made again. A transaction that is changing the lock, or
// asserts it, for longer than the database waits, is waited for like a holder. A grant that came too late has been given
// back.
func (w *wait) isToWait(err error) bool {
	return w.maxWait > 0 && (errors.Is(err, ErrBusy) || errors.Is(err, errTooLate))
}

// endedBy reports whether an attempt was abandoned because its context has ended.
func endedBy(limited context.Context, err error) bool {
	return limited.Err() != nil && errors.Is(err, context.Cause(limited)) && !errors.Is(err, ErrOutcomeUnknown)
}

// listOnce has the object looked after, from the first refusal until the end of the wait.
func (w *wait) listOnce(limited context.Context) error {
	if w.listed || limited.Err() != nil {
		return nil
	}
	w.listed = true
	err := w.leases.waiters.add(limited, w.claim, w.maxWait)
	if limited.Err() != nil {
		return nil // the wait is over, which has an error of its own
	}
	return err
}

func (w *wait) unlist() {
	if w.listed {
		w.leases.waiters.remove(w.claim)
	}
}

// lastAttempt ends a wait: with the cause if ctx has ended it, and else with an answer that is not older than a second.
func (w *wait) lastAttempt(ctx context.Context) error {
	l := w.leases
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), l.refusal(w.self))
	}
	if time.Since(w.asked) < lastAnswer || !l.isTurnOf(w.self) {
		return l.refusal(w.self)
	}
	limited, cancel := context.WithTimeout(ctx, lastAnswer)
	defer cancel()
	err := w.attempt(limited)
	if err == nil {
		return nil
	}
	if l.noteRefusal(w.self, err) || w.isToWait(err) || limited.Err() != nil {
		return l.refusal(w.self)
	}
	return err
}

// pause waits until the waiter is to try again, or limited ends.
func (l *Leases) pause(limited context.Context, self *waiter) error {
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-limited.Done():
	case <-self.wake:
	case <-again.C:
	case <-l.stopped.Done():
		return ErrClosed
	}
	return nil
}

func (l *Leases) enqueue(claim claim) (*waiter, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	self := &waiter{object: claim.object, owner: claim.owner, wake: make(chan struct{}, 1)}
	self.element = l.state(claim.object).queue.PushBack(self)
	return self, nil
}

func (l *Leases) dequeue(self *waiter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	state.queue.Remove(self.element)
	l.advance(self.object, state)
}

func (l *Leases) isTurnOf(self *waiter) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	return state.holder == nil && state.unsettled == 0 && state.first() == self
}

// noteRefusal remembers who held the object when an attempt was refused. It reports whether err is a refusal.
func (l *Leases) noteRefusal(self *waiter, err error) bool {
	var held *HeldError
	if !errors.As(err, &held) {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.objects[self.object].refused = held.Holder
	return true
}

func (l *Leases) refusal(self *waiter) *HeldError {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return &HeldError{Object: self.object, Holder: l.objects[self.object].holderNow(self)}
}
