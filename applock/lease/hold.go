package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/applock/applock/applock"
)

// hold is what all leases of one holder on one object share. The mutex of leases guards the fields from grant on.
type hold struct {
	leases  *Leases
	maxHold time.Duration
	ttl     time.Duration // zero: not renewed
	unique  bool          // no other caller has the operator
	// asker has the values of the acquiring context, and does not end.
	asker context.Context //nolint:containedctx // hooks get it at the end of the hold

	// turn admits one call at a time that changes the grant: the result of two would depend on chance.
	turn chan struct{}

	grant    applock.Grant
	began    time.Time // when the grant arrived here
	ends     time.Time // when maxHold is over
	deadline time.Time
	watchdog *time.Timer
	alarm    *time.Timer // nil without a LongHold
	open     map[*handle]struct{}
	// interval is how often pace renews or checks the hold, and due the next time. tries counts the attempts since the last answer.
	interval time.Duration
	pace     *pace
	due      time.Time
	tries    int
	checking bool // because the object is said to be free
	// cause is why the hold is over, nil while it is live.
	cause error
}

// hold makes a hold of a grant, with a first lease. A former hold has lost its grant, or there would be no new one.
func (l *Leases) hold(ctx context.Context, claim claim, grant applock.Grant, started time.Time) *handle {
	h := &hold{
		leases:  l,
		maxHold: claim.maxHold,
		ttl:     claim.ttl,
		unique:  claim.unique,
		asker:   context.WithoutCancel(ctx),
		turn:    make(chan struct{}, 1),
		grant:   grant,
		began:   l.now(),
		ends:    started.Add(claim.maxHold),
		open:    map[*handle]struct{}{},
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.state(grant.Object)
	if former := state.holder; former != nil {
		holder := applock.Holder{Owner: grant.Owner, ExpiresAt: grant.ExpiresAt}
		former.endLocked(applock.NewLostError(grant.Object, &applock.HeldError{Object: grant.Object, Holder: holder}))
	}
	state.holder = h
	l.live[h] = struct{}{}
	if !l.watching {
		l.watching = true
		l.watchClocks()
	}
	state.see(h.asHolder(), false)
	state.turns.taken(state.queue.Len() - 1)
	state.tell()
	term := granted(claim.term(), grant.Left)
	if h.ttl > term {
		h.ttl = term // renewals extend it in time
	}
	h.trust(started, term)
	h.watchdog = time.AfterFunc(h.trustLeft(), h.runOut)
	h.alarm = l.hooks.alarm(h)
	l.keep(h, started)
	return h.lease(h.asker)
}

// asHolder returns the holder for a refusal; the mutex is held.
func (h *hold) asHolder() applock.Holder {
	return applock.Holder{Owner: h.grant.Owner, ExpiresAt: h.grant.ExpiresAt}
}

// lease returns one more lease. Its context is derived from ctx, which does not end; the mutex is held.
func (h *hold) lease(ctx context.Context) *handle {
	lease := &handle{hold: h, released: make(chan struct{})}
	lease.bind(ctx)
	h.open[lease] = struct{}{}
	return lease
}

// carriedBy returns a context that allows re-entering the object.
func (h *hold) carriedBy(ctx context.Context) context.Context {
	return context.WithValue(ctx, heldKey{leases: h.leases, object: h.grant.Object}, h)
}

const (
	// maxMargin limits the tenth of a term by which a lease ends earlier here than in the backend.
	maxMargin = time.Second
	// releaseLimit limits a release, whose caller may have gone.
	releaseLimit = 5 * time.Second
)

// trust sets the deadline, after the backend granted term to a call that began at asked; the mutex is held.
func (h *hold) trust(asked time.Time, term time.Duration) {
	end := asked.Add(term)
	if h.ends.Before(end) {
		end = h.ends
	}
	h.deadline = end.Add(trusted(term) - term)
}

// trusted is the part of a term for which this program trusts a lease.
func trusted(term time.Duration) time.Duration { return term - min(term/10, maxMargin) }

// last is when the hold is over unless the holder renews it.
func (h *hold) last() time.Time {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	last := h.ends
	if h.ttl == 0 {
		last = h.deadline
	}
	return last.Add(-h.leases.slept()) // by the clock of the caller
}

// age is how long ago the hold began.
func (h *hold) age() time.Duration { return h.leases.now().Sub(h.began) }

// trustLeft is how long the hold is still trusted; the mutex is held.
func (h *hold) trustLeft() time.Duration { return h.deadline.Sub(h.leases.now()) }

// err returns why the hold is over, and ends it if its time is over.
func (h *hold) err() error {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	if h.cause == nil && h.trustLeft() <= 0 {
		h.runOutLocked()
	}
	return h.cause
}

// runOut ends the hold at its deadline.
func (h *hold) runOut() {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	if left := h.trustLeft(); left > 0 && h.cause == nil {
		h.watchdog.Reset(left) // renewed meanwhile
		return
	}
	h.runOutLocked()
}

// runOutLocked ends the hold and frees the object: the backend counts in larger steps. The mutex is held.
func (h *hold) runOutLocked() {
	l := h.leases
	cause := fmt.Errorf("the lease ran out after the %s of max_hold", h.maxHold)
	switch early := h.deadline.Before(h.ends.Add(-maxMargin)); {
	case early && h.ttl == 0:
		cause = errors.New("the lease ran out before its max_hold, because the policy of its type cuts longer locks: give it a ttl, so that it is renewed")
	case early:
		cause = fmt.Errorf("the lease ran out: it was not renewed within its ttl of %s", h.ttl)
	}
	if !h.endLocked(h.lost(cause)) {
		return
	}
	grant := h.grant
	l.background.Go(func() {
		_ = l.release(l.shutdownCtx, grant) // it expires by itself if this fails
		l.vacate(h)
	})
}

// lost is the error of a grant that is no longer live.
func (h *hold) lost(cause error) error { return applock.NewLostError(h.grant.Object, cause) }

// lose ends the hold because the backend says that the grant is not live.
func (h *hold) lose(cause error) {
	if h.end(h.lost(cause)) {
		h.leases.vacate(h)
	}
}

// end ends the contexts of the hold's leases, once, and reports whether it was live.
func (h *hold) end(cause error) bool {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	return h.endLocked(cause)
}

// endLocked is end with the mutex held.
func (h *hold) endLocked(cause error) bool {
	if h.cause != nil {
		return false
	}
	h.cause = cause
	h.watchdog.Stop()
	if h.alarm != nil {
		h.alarm.Stop()
	}
	if h.pace != nil {
		delete(h.pace.holds, h)
	}
	delete(h.leases.live, h)
	for lease := range h.open {
		lease.cancel(cause)
	}
	h.leases.hooks.ended(h, errors.Is(cause, applock.ErrLost) && !errors.Is(cause, applock.ErrClosed))
	return true
}

func (h *hold) release(ctx context.Context, lease *handle) error {
	h.leases.background.begin() // Close lets it end
	defer h.leases.background.done()
	last, err := h.close(lease)
	if !last || err != nil {
		return err
	}
	return h.giveUp(context.WithoutCancel(ctx))
}

// giveUp frees the object of a hold that has ended, or passes it on.
func (h *hold) giveUp(ctx context.Context) error {
	l := h.leases
	defer l.vacate(h)
	grant, _ := h.state()
	limited, cancel := l.untilShutdown(ctx)
	defer cancel()
	err := l.passOn(limited, h, grant)
	if isGone(err) {
		return h.lost(err)
	}
	return err
}

// close removes a lease from the hold. With the last one it ends the hold, so that nobody re-enters. It returns why the hold had been lost
// before, if it had.
func (h *hold) close(lease *handle) (last bool, lost error) {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	delete(h.open, lease)
	lease.cancel(errReleased)
	if errors.Is(h.cause, applock.ErrLost) {
		return false, h.cause
	}
	return len(h.open) == 0 && h.endLocked(errReleased), nil
}

func (h *hold) state() (grant applock.Grant, cause error) {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	return h.grant, h.cause
}
