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
	next, claim := l.successor(h)
	if next == nil {
		return l.release(ctx, grant)
	}
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
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
	l.tellPassed(next, nil)
	if isGone(err) {
		return err
	}
	return l.release(ctx, grant)
}

// successor returns the next waiter for an ended hold, and its claim. It returns nil if there is none: the object is then released. No
// other waiter here makes an attempt until the pass has a result.
func (l *Leases) successor(h *hold) (*waiter, claim) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[h.grant.Object]
	if l.passer == nil || l.cannotPass.Load() || l.closed || state == nil || state.holder != h || state.asking || state.unsettled > 0 {
		return nil, claim{}
	}
	next, now := state.first(), time.Now()
	isOthers := l.isShared && (state.turns.isOver() || now.Before(state.turns.pause))
	if next == nil || !next.heeds || isOthers || now.Before(l.putOffUntil) {
		return nil, claim{}
	}
	state.asking = true
	return next, next.claim
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
		l.tellPassed(next, &passed{err: err})
		return
	}
	if !l.tellPassed(next, &passed{lease: leases[0]}) {
		l.abandon(leases[0])
	}
}

// abandon releases in the background a lease that its caller does not get.
func (l *Leases) abandon(lease *handle) {
	l.background.Go(func() { _ = lease.Release(l.shutdownCtx) }) // it expires by itself if this fails
}

// tellPassed gives a waiter the result of a pass, nil for none, and reports whether the waiter is still there and may have it.
func (l *Leases) tellPassed(next *waiter, outcome *passed) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if state := l.objects[next.claim.object]; state != nil {
		state.asking = false
	}
	if outcome == nil || next.gone || l.closed {
		return false
	}
	next.rename(outcome.err)
	next.passed = outcome
	next.nudge()
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
	l.tellPassed(next, &passed{err: cause})
	grant, _ := h.state() // a renewal may still be writing it
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
func (l *Leases) collect(self *waiter) *passed {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	outcome := self.passed
	self.passed = nil
	return outcome
}
