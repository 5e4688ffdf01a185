package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
)

// Lease is a lock that a program has taken: the handle of one Acquire. It is safe for concurrent use.
//
// Who is authoritative: the backend. The lease may be trusted until Deadline, which is counted on this process's
// monotonic clock from before the request that took or renewed it, less a margin, and so is over before the backend
// gives the object to somebody else. A process that is paused beyond it finds out when it goes on, which is too late
// for a write that is under way: pass the fence to Assert in the transaction that writes.
type handle struct {
	hold    *hold
	context context.Context //nolint:containedctx // it is what a lease has to give
	cancel  context.CancelCauseFunc

	// releasing is taken by the first Release, released is closed when it has ended, with releaseErr.
	releasing  atomic.Bool
	released   chan struct{}
	releaseErr error
}

var errReleased = fmt.Errorf("lease released: %w", applock.ErrNotHeld)

// Object is what is held.
func (l *handle) Object() applock.Object { return l.hold.grant.Object }

// Owner is who holds it.
func (l *handle) Owner() applock.Owner { return l.hold.grant.Owner }

// Fence is the fencing token of the grant, 0 on backends that have none.
func (l *handle) Fence() applock.Fence { return l.hold.grant.Fence }

// ExpiresAt is when the backend frees the object unless the lease is renewed: UTC, by the backend's clock. It is zero
// on backends that do not tell.
func (l *handle) ExpiresAt() time.Time {
	l.hold.leases.mutex.Lock()
	defer l.hold.leases.mutex.Unlock()
	return l.hold.grant.ExpiresAt
}

// Deadline is until when the lease may be trusted unless it is renewed, by this process's monotonic clock.
func (l *handle) Deadline() time.Time {
	l.hold.leases.mutex.Lock()
	defer l.hold.leases.mutex.Unlock()
	return l.hold.deadline
}

// Context carries the lease: acquiring the same object with it re-enters. It has the values of the context that acquired
// the lease, but does not end with it. It ends, with a cause that context.Cause tells:
//
//   - when the lease is known to be lost: the cause is a [*LostError] (ErrLost). A lease with a TTL learns of a loss within
//     a third of it; one without within 30 s, or when somebody who waits for the object in the same client is told that it is free;
//   - when the lease has run out, at Deadline: the cause is a *LostError, too;
//   - when the lease is released or transferred: the cause is ErrNotHeld, and not ErrLost.
//
// Its Deadline is when MaxHold ends, which Renew puts off; by then the context has ended. A pause of the process or of its
// machine delays the end of the context: Err looks at the clocks.
func (l *handle) Context() context.Context { return l.context }

// Err returns nil while the lease may be trusted, and otherwise why not, as the cause of its context tells. Unlike that it looks
// at the clocks at this moment, also at the one that goes on while a machine sleeps.
func (l *handle) Err() error {
	_ = l.hold.err() // its cause is that of the context, too
	return context.Cause(l.Context())
}

// endWith has the lease's context end with ctx, too. Nobody has seen it yet.
func (l *handle) endWith(ctx context.Context) {
	l.hold.leases.mutex.Lock()
	defer l.hold.leases.mutex.Unlock()
	l.bind(ctx)
	if l.hold.cause != nil {
		l.cancel(l.hold.cause)
	}
}

// bind makes the lease's context, from one with its values; the mutex is held.
func (l *handle) bind(ctx context.Context) {
	within := leaseContext{holds: []*hold{l.hold}}
	within.Context, l.cancel = context.WithCancelCause(l.hold.carriedBy(ctx))
	l.context = within
}

// leaseContext knows when its leases end at the latest.
type leaseContext struct {
	context.Context

	holds []*hold
}

// Deadline is the first of the deadlines.
func (c leaseContext) Deadline() (time.Time, bool) {
	first, ok := c.Context.Deadline()
	for _, hold := range c.holds {
		if last := hold.last(); !ok || last.Before(first) {
			first, ok = last, true
		}
	}
	return first, ok
}

// Renew makes the lease last for another MaxHold, or TTL at a time up to it, from now. It returns ErrLost when the
// lease was lost or has run out. After another error the lease is what it was, and Renew may be called again; with a TTL
// the call may take a third of that.
func (l *handle) Renew(ctx context.Context) error {
	if err := l.hold.renew(ctx); err != nil {
		return fmt.Errorf("renew %s: %w", l.Object(), err)
	}
	return nil
}

// Release ends the lease; the object is free once all leases that re-entered have ended. It runs also when ctx has
// ended, for 5 s at the most, and repeats calls that fail. Further calls return what the first one did.
//
// It returns ErrLost when the lease had been lost or run out before, so that its holder may not have been alone. After
// any other error the lease is over here, and the object is free when the lock expires. On PostgreSQL a crash of the server
// just after the release may undo it: then, too, the object is free when the lock expires (see FlushReleases of
// applock/postgres). Everywhere else it waits as every commit does; MySQL and MariaDB have innodb_flush_log_at_trx_commit for
// the whole server only.
func (l *handle) Release(ctx context.Context) error {
	if !l.releasing.CompareAndSwap(false, true) {
		<-l.released
		return l.releaseErr
	}
	defer close(l.released)
	if err := l.hold.release(ctx, l); err != nil {
		l.releaseErr = fmt.Errorf("release %s: %w", l.Object(), err)
	}
	return l.releaseErr
}

// Transfer ends the lease, with all that re-entered, and begins a grant of another owner in the same moment. It
// returns ErrLost when the lease was lost before, and errors.ErrUnsupported on backends without owners. After
// ErrOutcomeUnknown the lease is over, and the object is the new owner's or free: inquire.
func (l *handle) Transfer(ctx context.Context, request applock.TransferLeaseRequest) (applock.Grant, error) {
	grant, err := l.hold.transfer(ctx, request)
	if err != nil {
		return applock.Grant{}, fmt.Errorf("transfer %s: %w", l.Object(), err)
	}
	return grant, nil
}

// Leave ends the lease, with all that re-entered, and leaves the object locked: until ttl from now, in whole seconds, or as
// long as its grant lasts anyway if that is longer. It keeps others from beginning again what has just been done.
//
// It returns ErrLost when the lease was lost before. After another error the lease is what it was. Backends that keep locks in
// sessions free the object when the client is closed.
func (l *handle) Leave(ctx context.Context, ttl time.Duration) error {
	if ttl < time.Second || ttl > applock.MaxTTL || ttl%time.Second != 0 {
		refusal := &applock.InvalidError{Argument: "TTL", Reason: "must be whole seconds between 1 s and 3650 days"}
		return fmt.Errorf("leave %s: %w", l.Object(), refusal)
	}
	if err := l.hold.leave(ctx, ttl); err != nil {
		return fmt.Errorf("leave %s: %w", l.Object(), err)
	}
	return nil
}

// hold is what the leases of one holder on one object share. The fields from grant on are guarded by the mutex of
// leases.
type hold struct {
	leases  *Leases
	maxHold time.Duration
	ttl     time.Duration // zero: not renewed by itself
	// asker has the values of the context that acquired it, and does not end.
	asker context.Context //nolint:containedctx // the end of the hold is told with it

	// turn lets in one call at a time that changes the grant: what two leave behind would depend on chance.
	turn chan struct{}

	grant    applock.Grant
	began    time.Time // when the grant was here
	ends     time.Time // when maxHold is over
	deadline time.Time
	watchdog *time.Timer
	open     map[*handle]struct{}
	// interval is how often the hold is renewed or checked, by pace, and due when next; tries counts the attempts since
	// the last that was answered.
	interval time.Duration
	pace     *pace
	due      time.Time
	tries    int
	checking bool // whether the grant is still live, because the object is said to be free
	// cause is why it is over, nil while it is live.
	cause error
}

// hold makes a grant the hold of its object, with a first lease. A former hold has lost its grant, or there would not
// be a new one.
func (l *Leases) hold(ctx context.Context, claim claim, grant applock.Grant, started time.Time) *handle {
	h := &hold{
		leases:  l,
		maxHold: claim.maxHold,
		ttl:     claim.ttl,
		asker:   context.WithoutCancel(ctx),
		turn:    make(chan struct{}, 1),
		grant:   grant,
		began:   time.Now(),
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
		h.ttl = term // renewed in time
	}
	h.trust(started, term)
	h.watchdog = time.AfterFunc(time.Until(h.deadline), h.runOut)
	l.keep(h)
	return h.lease(h.asker)
}

// asHolder returns what a refusal tells; the mutex is held.
func (h *hold) asHolder() applock.Holder {
	return applock.Holder{Owner: h.grant.Owner, ExpiresAt: h.grant.ExpiresAt}
}

// lease returns one more lease, whose context is below ctx, which does not end; the mutex is held.
func (h *hold) lease(ctx context.Context) *handle {
	lease := &handle{hold: h, released: make(chan struct{})}
	lease.bind(ctx)
	h.open[lease] = struct{}{}
	return lease
}

// carriedBy returns a context by which the object can be re-entered.
func (h *hold) carriedBy(ctx context.Context) context.Context {
	return context.WithValue(ctx, heldKey{leases: h.leases, object: h.grant.Object}, h)
}

const (
	// maxMargin bounds the tenth of its term by which a lease ends here before it does there.
	maxMargin = time.Second
	// releaseLimit bounds a release, whose caller may have gone.
	releaseLimit = 5 * time.Second
)

// trust sets the deadline after the backend has granted term to a call that began at asked; the mutex is held.
func (h *hold) trust(asked time.Time, term time.Duration) {
	end := asked.Add(term)
	if h.ends.Before(end) {
		end = h.ends
	}
	h.deadline = end.Add(trusted(term) - term)
}

// trusted is the part of a term for which a lease counts here.
func trusted(term time.Duration) time.Duration { return term - min(term/10, maxMargin) }

// last is when the hold is over unless it is renewed by its holder.
func (h *hold) last() time.Time {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	if h.ttl == 0 {
		return h.deadline
	}
	return h.ends
}

// trustLeft is for how long the hold may be trusted, by the clock that gives it less: the monotonic one stands still while
// the machine sleeps, and the other one may be set back. The mutex is held.
func (h *hold) trustLeft() time.Duration {
	return min(time.Until(h.deadline), h.deadline.Round(0).Sub(h.leases.wallClock()))
}

// err returns why the hold is over, and ends it if it is to be.
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

// runOutLocked ends the hold, and frees the object: the backend counts in larger steps. The mutex is held.
func (h *hold) runOutLocked() {
	l := h.leases
	cause := fmt.Errorf("the lease ran out after the %s of max_hold", h.maxHold)
	switch early := h.deadline.Before(h.ends.Add(-maxMargin)); {
	case early && h.ttl == 0:
		cause = errors.New("the lease ran out before its max_hold, as the policy of its type wants: give it a ttl")
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

// lost is the error of a grant that is not live any more.
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
	if h.pace != nil {
		delete(h.pace.holds, h)
	}
	delete(h.leases.live, h)
	for lease := range h.open {
		lease.cancel(cause)
	}
	h.leases.hooks.ended(h, errors.Is(cause, applock.ErrLost))
	return true
}

func (h *hold) release(ctx context.Context, lease *handle) error {
	l := h.leases
	l.background.begin() // Close lets it end
	defer l.background.done()
	last, err := h.close(lease)
	if !last || err != nil {
		return err
	}
	defer l.vacate(h)
	grant, _ := h.state()
	limited, cancel := l.untilShutdown(context.WithoutCancel(ctx))
	defer cancel()
	err = l.release(limited, grant)
	if isGone(err) {
		return h.lost(err)
	}
	return err
}

// close takes a lease off the hold, and ends the hold with the last one, so that nobody re-enters any more. It returns
// why the hold had been lost, if so.
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

// exclusively makes a call that changes the grant when no other one is under way. Close lets it end, if it does in time.
func (h *hold) exclusively(ctx context.Context, call func(ctx context.Context) error) error {
	h.leases.background.begin()
	defer h.leases.background.done()
	ctx, cancel := h.leases.untilShutdown(ctx)
	defer cancel()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
		return call(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *hold) renew(ctx context.Context) error {
	term := h.maxHold
	if h.ttl > 0 {
		term = min(h.ttl, h.maxHold)
		limited, cancel := context.WithTimeout(ctx, h.ttl/renewalsPerTTL) // it keeps the others from renewing it
		defer cancel()
		ctx = limited
	}
	return h.exclusively(ctx, func(ctx context.Context) error {
		asked := time.Now()
		return h.extend(ctx, asked, term, asked.Add(h.maxHold))
	})
}

// extend renews the hold alone, for term, and sets its end.
func (h *hold) extend(ctx context.Context, asked time.Time, term time.Duration, ends time.Time) error {
	l := h.leases
	grant, cause := h.state()
	if cause != nil {
		return cause
	}
	answers, err := l.backend.Renew(ctx, []Renewal{{Grant: grant, TTL: term}})
	if err != nil {
		return err
	}
	if len(answers) == 0 {
		return fmt.Errorf("%w: the renewal was passed over", applock.ErrBusy)
	}
	if answers[0].Lost != nil {
		h.lose(answers[0].Lost)
		return h.lost(answers[0].Lost)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	h.ends = ends
	h.renewed(asked, term, answers[0])
	return h.cause
}

func (h *hold) state() (grant applock.Grant, cause error) {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	return h.grant, h.cause
}

// renewed notes an answer of the backend; the mutex is held.
func (h *hold) renewed(asked time.Time, term time.Duration, answer Renewed) {
	interval := h.interval
	if cut := granted(term, answer.Left); cut < term {
		term, interval = cut, min(interval, cut/renewalsPerTTL)
	}
	h.trust(asked, term)
	h.grant.ExpiresAt = answer.ExpiresAt
	h.due, h.tries = asked.Add(interval), 0
}

// granted is how much of a term the backend has granted, which tells nothing with zero.
func granted(term, left time.Duration) time.Duration {
	if left == 0 {
		return term
	}
	return min(term, left)
}

// verify finds out, in the background, whether a hold has been lost; the mutex is held. It does so by renewing it for
// the time that it has left.
func (l *Leases) verify(h *hold) {
	if h.checking || l.closed {
		return
	}
	h.checking = true
	l.background.Go(func() {
		ctx, cancel := context.WithTimeout(l.stopped, releaseLimit)
		defer cancel()
		err := h.exclusively(ctx, func(ctx context.Context) error {
			asked := time.Now()
			ends, term := h.left(asked)
			if term <= 0 {
				return nil
			}
			return h.extend(ctx, asked, term, ends)
		})
		if err != nil {
			l.logger.LogAttrs(ctx, slog.LevelDebug, "checked a lease", slog.Any("error", err))
		}
		l.mutex.Lock()
		defer l.mutex.Unlock()
		h.checking = false
	})
}

// left returns when the hold ends, and for how long it is to be renewed now.
func (h *hold) left(now time.Time) (ends time.Time, term time.Duration) {
	h.leases.mutex.Lock()
	defer h.leases.mutex.Unlock()
	return h.ends, h.leftLocked(now)
}

func (h *hold) leftLocked(now time.Time) time.Duration {
	left := h.ends.Sub(now)
	if h.ttl > 0 {
		left = min(left, h.ttl)
	}
	return left
}

// leave renews the hold for the last time and ends it without a release.
func (h *hold) leave(ctx context.Context, ttl time.Duration) error {
	return h.exclusively(ctx, func(ctx context.Context) error {
		asked := time.Now()
		if err := h.extend(ctx, asked, ttl, asked.Add(ttl)); err != nil {
			return err
		}
		if h.end(errReleased) {
			h.leases.vacate(h)
		}
		return nil
	})
}

func (h *hold) transfer(ctx context.Context, request applock.TransferLeaseRequest) (handed applock.Grant, err error) {
	backend, ok := h.leases.backend.(Transferrer)
	if !ok {
		return applock.Grant{}, errors.ErrUnsupported
	}
	err = h.exclusively(ctx, func(ctx context.Context) error {
		grant, cause := h.state()
		if cause != nil {
			return cause
		}
		var err error
		handed, err = backend.Transfer(ctx, grant, request)
		return h.handed(grant, handed, err)
	})
	return handed, err
}

// handed ends the hold after a transfer, unless that has failed without an effect.
func (h *hold) handed(grant, handed applock.Grant, err error) error {
	l := h.leases
	switch {
	case isGone(err):
		h.lose(err)
		return h.lost(err)
	case errors.Is(err, applock.ErrOutcomeUnknown):
		if h.end(h.lost(err)) {
			l.background.Go(func() {
				_ = l.release(l.shutdownCtx, grant) // of the former grant: if it took effect, nothing happens
				l.vacate(h)
			})
		}
		return err
	case err != nil:
		return err
	}
	if h.end(fmt.Errorf("lease transferred to %s: %w", handed.Owner, applock.ErrNotHeld)) {
		l.vacate(h)
	}
	return nil
}
