package lease

import (
	"context"
	"errors"
	"time"

	"github.com/applock/applock/applock"
)

// passLimit limits a pass. It leaves time for a release after a pass without an answer.
const passLimit = releaseLimit / 2

// passed is the result of a pass to a waiter.
type passed struct {
	lease *handle
	err   error
}

// passOn ends the grant of a released hold: it passes the object on to the next waiter here, or releases it.
func (l *Leases) passOn(ctx context.Context, h *hold, grant applock.Grant) error {
	ctx, cancel := within(ctx, releaseLimit)
	defer cancel()
	l.learnOthers(ctx, h, true)
	next, claim := l.queue.successor(h)
	if next == nil {
		l.moveBack(ctx, h)
		return l.release(ctx, grant)
	}
	sent := l.now() // before the request, so that the lease here never outlasts the backend's
	got, err := l.passOnce(ctx, grant, claim)
	switch {
	case err == nil:
		l.give(next, claim, got, sent)
		return nil
	case errors.Is(err, applock.ErrOutcomeUnknown):
		return l.undoPass(ctx, h, next, claim, err)
	}
	if isRefused(err) {
		l.cannotPass.Store(true)
	}
	l.queue.endPass(next, nil)
	if isGone(err) {
		return err
	}
	return l.release(ctx, grant)
}

// successor returns the next waiter for an ended hold, and its claim. It returns nil if there is none: the object is then released. No
// other waiter here makes an attempt until the pass has a result.
func (q *queue) successor(h *hold) (*waiter, claim) {
	objects, unlock := q.lock()
	defer unlock()
	l, state := q.leases, objects.states[h.grant.Object]
	if l.passer == nil || l.cannotPass.Load() || objects.closed || state == nil || state.holder != h || state.asking || state.unsettled > 0 {
		return nil, claim{}
	}
	next := state.next()
	if next == nil || !next.heeds || state.isRowOver() || l.keeper.putOffFor() > 0 {
		return nil, claim{}
	}
	state.asking = true
	return next, *next.claim
}

func (l *Leases) passOnce(ctx context.Context, grant applock.Grant, claim claim) (applock.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()
	return l.passer.Pass(ctx, grant, claim.owner, claim.term())
}

// give makes a lease of the passed grant. If the waiter has left, the next one gets it.
func (l *Leases) give(next *waiter, claim claim, grant applock.Grant, sent time.Time) {
	leases, err := l.accept(next.asker, claims(claim), []applock.Grant{grant}, sent)
	if err != nil {
		l.queue.endPass(next, &passed{err: err})
		return
	}
	if !l.queue.endPass(next, &passed{lease: leases[0]}) {
		l.abandon(leases[0])
	}
}

// abandon releases in the background a lease that its caller does not get.
func (l *Leases) abandon(lease *handle) {
	l.background.Go(func() { _ = lease.Release(l.shutdownCtx) }) // it expires by itself if this fails
}

// endPass gives a waiter the result of a pass, nil for none, and reports whether the waiter is still there and may have it.
func (q *queue) endPass(next *waiter, outcome *passed) bool {
	objects, unlock := q.lock()
	defer unlock()
	if state := objects.states[next.claim.object]; state != nil {
		state.asking = false
	}
	if outcome == nil || next.gone || objects.closed {
		return false
	}
	next.rename(outcome.err)
	next.passed = outcome
	next.wake()
	return true
}

// undoPass ends the grant of a hold after a pass without an answer. It releases the former grant first, so that a pass that arrives later
// finds nothing. Then it releases, repeatedly, what the waiter may have got.
func (l *Leases) undoPass(ctx context.Context, h *hold, next *waiter, claim claim, cause error) error {
	ended := make(chan struct{})
	l.giveBack(claims(claim), func() answer {
		<-ended
		return answer{err: cause}
	})
	defer close(ended)
	l.queue.endPass(next, &passed{err: cause})
	grant, _ := h.state()
	err := l.release(ctx, grant)
	if isGone(err) {
		return nil // the pass has ended it
	}
	if err != nil && (h.unique || grant.Fence != 0) {
		l.late.add(grant)
	}
	return err
}

func claims(one claim) []claim { return []claim{one} }

// collect returns the result of a pass to the waiter, nil for none.
func (q *queue) collect(self *waiter) *passed {
	_, unlock := q.lock()
	defer unlock()
	outcome := self.passed
	self.passed = nil
	return outcome
}
