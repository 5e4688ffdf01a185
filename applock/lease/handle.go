package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
)

// handle is the [applock.Lease] of one Acquire, whose methods it implements.
type handle struct {
	hold    *hold
	context context.Context //nolint:containedctx // it is what a lease has to give
	cancel  context.CancelCauseFunc

	// releasing is set by the first Release. released is closed when that has ended with releaseErr.
	releasing  atomic.Bool
	released   chan struct{}
	releaseErr error
}

var errReleased = fmt.Errorf("lease released: %w", applock.ErrNotHeld)

func (l *handle) Object() applock.Object { return l.hold.grant.Object }

func (l *handle) Owner() applock.Owner { return l.hold.grant.Owner }

func (l *handle) Fence() applock.Fence { return l.hold.grant.Fence }

func (l *handle) Key() applock.Key { return l.hold.grant.Key() }

// String names the grant. Without it fmt would read fields that other goroutines write.
func (l *handle) String() string {
	return fmt.Sprintf("%s held by %s with fence %d", l.Object(), l.Owner(), l.Fence())
}

func (l *handle) ExpiresAt() time.Time {
	grant, _ := l.hold.state()
	return grant.ExpiresAt
}

func (l *handle) Deadline() time.Time {
	t, unlock := l.hold.lock()
	defer unlock()
	return t.deadline.Add(-l.hold.leases.slept())
}

func (l *handle) Context() context.Context { return l.context }

func (l *handle) Err() error {
	_ = l.hold.err() // err ends the context, too
	return context.Cause(l.Context())
}

// endWith ends the lease's context with ctx, too. The lease is not shared yet.
func (l *handle) endWith(ctx context.Context) {
	t, unlock := l.hold.lock()
	defer unlock()
	l.bind(ctx)
	if t.cause != nil {
		l.cancel(t.cause)
	}
}

// bind makes the lease's context, with the values of ctx.
func (l *handle) bind(ctx context.Context) {
	within := leaseContext{holds: []*hold{l.hold}}
	within.Context, l.cancel = context.WithCancelCause(l.hold.carriedBy(ctx))
	l.context = within
}

// leaseContext is a context with the deadline of its leases.
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

func (l *handle) Renew(ctx context.Context) error {
	if err := l.hold.renew(ctx); err != nil {
		return fmt.Errorf("renew %s: %w", l.Object(), withEnd(ctx, err))
	}
	return nil
}

func (l *handle) Release(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // before anything is ended: it panics if ctx is nil
	if l.releasing.CompareAndSwap(false, true) {
		l.finish(l.hold.releaseOf(ctx, l))
	}
	<-l.released
	return l.releaseErr
}

// finish ends the first Release.
func (l *handle) finish(err error) {
	switch {
	case errors.Is(err, applock.ErrLost):
		l.releaseErr = fmt.Errorf("release %s: %w", l.Object(), err)
	case err != nil:
		l.releaseErr = fmt.Errorf("release %s, which may stay locked until it expires: %w", l.Object(), err)
	}
	close(l.released)
}

func (l *handle) Transfer(ctx context.Context, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	grant, err := l.hold.transfer(ctx, to, ttl)
	if err != nil {
		return applock.Grant{}, fmt.Errorf("transfer %s: %w", l.Object(), withEnd(ctx, err))
	}
	return grant, nil
}

func (l *handle) Leave(ctx context.Context, ttl time.Duration) error {
	if ttl < time.Second || ttl > applock.MaxTTL || ttl%time.Second != 0 {
		refusal := &applock.InvalidError{Argument: "TTL", Reason: "must be whole seconds between 1 s and 3650 days"}
		return fmt.Errorf("leave %s: %w", l.Object(), refusal)
	}
	if err := l.hold.leave(ctx, ttl); err != nil {
		return fmt.Errorf("leave %s: %w", l.Object(), withEnd(ctx, err))
	}
	return nil
}
