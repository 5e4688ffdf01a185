package lease

import (
	"context"
	"errors"
	"time"

	"github.com/applock/applock/applock"
)

// passLimit bounds a pass. It leaves time for a release after one without an answer.
const passLimit = releaseLimit / 2

// passed is what has become of a pass to a waiter.
type passed struct {
	lease *handle
	err   error
}

// passOn ends the grant of a hold that its holder has released: it passes it on to the waiter here whose turn is next, or releases it.
func (l *Leases) passOn(ctx context.Context, h *hold, grant applock.Grant) error {
	next, claim := l.successor(h)
	if next == nil {
		return l.release(ctx, grant)
	}
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	sent := l.now() // before the request, so that it never lasts longer here than there
	got, err := l.passOnce(ctx, grant, claim)
	switch {
	case err == nil:
		l.give(next, claim, got, sent)
		return nil
	case errors.Is(err, applock.ErrOutcomeUnknown):
		return l.undoPass(ctx, h, next, claim, err)
	}
	if isRefused := errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrSchema) || errors.Is(err, errors.ErrUnsupported); isRefused {
		l.cannotPass.Store(true)
	}
	l.tellPassed(next, nil)
	if isGone(err) {
		return err
	}
	return l.release(ctx, grant)
}

// successor returns the waiter that gets a hold that has ended, and its claim. It returns nil if there is none: then the object is
// released, and the first caller gets it. No other waiter here asks for the object until the waiter knows the result.
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

// give makes a lease of what was passed on. A waiter that is gone by now leaves it to the next one.
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

// abandon releases in the background what was passed on to a caller that has gone.
func (l *Leases) abandon(lease *handle) {
	l.background.Go(func() { _ = lease.Release(l.shutdownCtx) }) // it expires by itself if this fails
}

// tellPassed tells a waiter what has become of a pass, nil for nothing, and reports whether it is still there and may have it.
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

// undoPass ends the grant of a hold after a pass of which nothing is known. A pass that arrives once the former grant has ended finds it
// gone. So that is released first, and then, again and again, what the waiter may have.
func (l *Leases) undoPass(ctx context.Context, h *hold, next *waiter, claim claim, cause error) error {
	ended := make(chan struct{})
	l.giveBack(claims(claim), func() answer {
		<-ended
		return answer{err: cause}
	})
	defer close(ended)
	l.tellPassed(next, &passed{err: cause})
	err := l.release(ctx, h.grant)
	if isGone(err) {
		return nil // by the pass, or it would not have been under way
	}
	if err != nil && (h.unique || h.grant.Fence != 0) {
		l.late.add(h.grant, claim.term())
	}
	return err
}

func claims(one claim) []claim { return []claim{one} }

// collect returns what has become of a pass to the waiter, nil where there was none.
func (l *Leases) collect(self *waiter) *passed {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	outcome := self.passed
	self.passed = nil
	return outcome
}
