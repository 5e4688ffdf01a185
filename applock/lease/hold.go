package lease

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
)

// hold is what all leases of one holder on one object share.
type hold struct {
	leases  *Leases
	grant   applock.Grant // as it was taken; its present end is the tenure's
	maxHold time.Duration
	ttl     time.Duration // zero: not renewed
	unique  bool          // no other caller has the operator
	began   time.Time     // when the grant arrived here
	// asker has the values of the acquiring context, and does not end.
	asker context.Context //nolint:containedctx // hooks get it at the end of the hold
	// turn admits one renewal or transfer at a time: the result of two would depend on chance. A release never waits for it.
	turn chan struct{}
	// interval is how often the keeper renews or checks the hold, zero for never.
	interval time.Duration

	tenure tenure
}

// tenure is what changes of a hold. It is reached by hold.lock, or through the keeper's holds.
type tenure struct {
	hold      *hold
	holds     *holds
	expiresAt time.Time // of the lock, if the backend says so
	ends      time.Time // when maxHold is over
	deadline  time.Time
	watchdog  *time.Timer
	alarm     *time.Timer // nil without a LongHold
	open      map[*handle]struct{}
	// due is when the keeper renews or checks the hold the next time, and place its place among those that are due. tries counts the attempts
	// since the last answer, and took is how long that call took.
	due      time.Time
	place    int
	tries    int
	took     time.Duration
	checking bool // because the object is said to be free
	told     bool // the hooks know that a caller got it
	// cause is why the hold is over, nil while it is live.
	cause error
}

// lock returns the tenure until unlock.
func (h *hold) lock() (t *tenure, unlock func()) {
	_, unlock = h.leases.keeper.lock()
	return &h.tenure, unlock
}

// hold makes a hold of a grant, with a first lease. A former hold has lost its grant, or there would be no new one.
func (l *Leases) hold(ctx context.Context, claim claim, grant applock.Grant, started, arrived time.Time) *handle {
	objects, unlock := l.queue.lock()
	defer unlock()
	state := objects.of(grant.Object)
	if former := state.holder; former != nil {
		holder := applock.Holder{Owner: grant.Owner, ExpiresAt: grant.ExpiresAt}
		former.end(former.lost(&applock.HeldError{Object: grant.Object, Holder: holder}))
	}
	h, first := l.keeper.keep(ctx, claim, grant, started, arrived)
	state.taken(h)
	if l.crowd != nil && state.isToAsk() {
		l.background.Go(func() { l.learnOthers(l.stopped, h, false) })
	}
	return first
}

// asHolder returns the holder for a refusal.
func (h *hold) asHolder() applock.Holder {
	t, unlock := h.lock()
	defer unlock()
	return applock.Holder{Owner: h.grant.Owner, ExpiresAt: t.expiresAt}
}

// lease returns one more lease. Its context is derived from ctx, which does not end.
func (t *tenure) lease(ctx context.Context) *handle {
	lease := &handle{hold: t.hold, released: make(chan struct{})}
	lease.bind(ctx)
	t.open[lease] = struct{}{}
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

// trust sets the deadline, after the backend granted term to a call that began at asked.
func (t *tenure) trust(asked time.Time, term time.Duration) {
	end := asked.Add(term)
	if t.ends.Before(end) {
		end = t.ends
	}
	t.deadline = end.Add(trusted(term) - term)
}

// trusted is the part of a term for which this program trusts a lease.
func trusted(term time.Duration) time.Duration { return term - min(term/10, maxMargin) }

// last is when the hold is over unless the holder renews it.
func (h *hold) last() time.Time {
	t, unlock := h.lock()
	defer unlock()
	last := t.ends
	if h.ttl == 0 {
		last = t.deadline
	}
	return last.Add(-h.leases.slept()) // by the clock of the caller
}

// age is how long ago the hold began.
func (h *hold) age() time.Duration { return h.leases.now().Sub(h.began) }

// trustLeft is how long the hold is still trusted.
func (t *tenure) trustLeft() time.Duration { return t.deadline.Sub(t.hold.leases.now()) }

// err returns why the hold is over, and ends it if its time is over.
func (h *hold) err() error {
	t, unlock := h.lock()
	defer unlock()
	if t.cause == nil && t.trustLeft() <= 0 {
		t.runOut()
	}
	return t.cause
}

// atDeadline ends the hold unless it was renewed meanwhile.
func (h *hold) atDeadline() {
	t, unlock := h.lock()
	defer unlock()
	if left := t.trustLeft(); left > 0 && t.cause == nil {
		t.watchdog.Reset(left)
		return
	}
	t.runOut()
}

// runOut ends the hold and frees the object: the backend counts in larger steps.
func (t *tenure) runOut() {
	h, l := t.hold, t.hold.leases
	cause := fmt.Errorf("the lease ran out after the %s of max_hold", h.maxHold)
	switch early := t.deadline.Before(t.ends.Add(-maxMargin)); {
	case early && h.ttl == 0:
		cause = errors.New("the lease ran out before its max_hold, because the policy of its type cuts longer locks: give it a ttl, so that it is renewed")
	case early:
		cause = fmt.Errorf("the lease ran out: it was not renewed within its ttl of %s", h.ttl)
	}
	if !t.end(h.lost(cause)) {
		return
	}
	grant := t.grant()
	l.background.Go(func() {
		_ = l.release(l.shutdownCtx, grant) // it expires by itself if this fails
		l.queue.vacate(h)
	})
}

// lost is the error of a grant that is no longer live.
func (h *hold) lost(cause error) error { return clients.Lost(h.grant.Object, cause) }

// lose ends the hold because the backend says that the grant is not live.
func (h *hold) lose(cause error) {
	if h.end(h.lost(cause)) {
		h.leases.queue.vacate(h)
	}
}

// end is [tenure.end].
func (h *hold) end(cause error) bool {
	t, unlock := h.lock()
	defer unlock()
	return t.end(cause)
}

// end ends the contexts of the hold's leases, once, and reports whether it was live.
func (t *tenure) end(cause error) bool {
	if t.cause != nil {
		return false
	}
	h := t.hold
	t.cause = cause
	t.watchdog.Stop()
	if t.alarm != nil {
		t.alarm.Stop()
	}
	if h.interval > 0 {
		heap.Remove(&t.holds.due, t.place)
	}
	delete(t.holds.live, h)
	for lease := range t.open {
		lease.cancel(cause)
	}
	if t.told {
		h.leases.hooks.ended(h, cause)
	}
	return true
}

// releaseOf releases a lease of the hold. ctx does not end.
func (h *hold) releaseOf(ctx context.Context, lease *handle) error {
	h.leases.background.begin() // Close lets it end
	defer h.leases.background.done()
	last, err := h.close(lease)
	if !last || err != nil {
		return err
	}
	return h.giveUp(h.leases.lasting(ctx))
}

// giveUp frees the object of a hold that has ended, or passes it on.
func (h *hold) giveUp(ctx context.Context) error {
	l := h.leases
	defer l.queue.vacate(h)
	grant, _ := h.state()
	err := l.passOn(ctx, h, grant)
	if isGone(err) {
		return h.lost(err)
	}
	return err
}

// close removes a lease from the hold. With the last one it ends the hold, so that nobody re-enters. It returns why the hold had been lost
// before, if it had.
func (h *hold) close(lease *handle) (last bool, lost error) {
	t, unlock := h.lock()
	defer unlock()
	delete(t.open, lease)
	lease.cancel(errReleased)
	if errors.Is(t.cause, applock.ErrLost) {
		return false, t.cause
	}
	return len(t.open) == 0 && t.end(errReleased), nil
}

// state returns the present grant, and why the hold is over.
func (h *hold) state() (grant applock.Grant, cause error) {
	t, unlock := h.lock()
	defer unlock()
	return t.grant(), t.cause
}

func (t *tenure) grant() applock.Grant {
	grant := t.hold.grant
	grant.ExpiresAt = t.expiresAt
	return grant
}
