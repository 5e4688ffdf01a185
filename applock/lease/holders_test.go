package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// The tests of this file have several holders of one operator or of one client, which the database cannot tell apart.

// Goal: a re-entry during the last release does not get a lease that ends with it, but waits for its own. Method: a release
// that takes 2 s, and a re-entry after one.
func TestReentryDuringTheLastRelease(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(once(fakebackend.Release, fakebackend.Fault{Before: 2 * time.Second}))
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}
		outer := mustAcquire(t, leases, request)
		go func() { _ = outer.Release(context.WithoutCancel(t.Context())) }()
		time.Sleep(time.Second)
		err := leases.Do(context.WithoutCancel(outer.Context()), request, func(_ context.Context, lease applock.Lease) error {
			time.Sleep(10 * time.Second)
			if left := -backend.FreeFor(nightly); left <= 0 || lease.Context().Err() != nil {
				t.Errorf("the lease ended with %v, and the object is locked for %s, want both to last", context.Cause(lease.Context()), left)
			}
			return nil
		})
		if err != nil {
			t.Errorf("do: %v", err)
		}
	})
}

// Goal: the late answer to a call that was cancelled does not take the lock away from the operator's next call. Method: the
// same operator tries again at once; nobody else gets the object.
func TestCancelledCallSparesTheNext(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(once(fakebackend.Get, fakebackend.Fault{After: 2 * time.Second}))
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		request := applock.AcquireRequest{Object: nightly, Owner: applock.Owner{Operator: "etl-7"}, MaxHold: time.Hour}
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := leases.Acquire(gone, request); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("acquire: %v, want that ctx has ended", err)
		}
		next := mustAcquire(t, leases, request)
		time.Sleep(10 * time.Second)
		if left := -backend.FreeFor(nightly); left <= 0 || next.Context().Err() != nil {
			t.Errorf("the lease ended with %v, and the object is locked for %s, want both to last", context.Cause(next.Context()), left)
		}
	})
}

// Goal: AcquireAll takes what this program has lost without knowing it, and neither that nor any other lease suffers.
// Method: a supervisor ends one of two grants, AcquireAll takes its object, and the next renewals renew the new lease and
// the bystander.
func TestAcquireAllAfterAnUnnoticedLoss(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		var former []applock.Lease
		for _, object := range []applock.Object{nightly, account(1)} {
			request := anHour(object)
			request.TTL = 6 * time.Second
			former = append(former, here.acquire(t, request))
		}
		here.backend.End(nightly)
		request := all(nightly)
		request.TTL = 6 * time.Second
		set, err := here.AcquireAllBy(t.Context(), request, here.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		var lost *applock.LostError
		if cause := context.Cause(former[0].Context()); !errors.As(cause, &lost) || lost.Holder.Owner != set.Leases()[0].Owner() {
			t.Errorf("the former lease ended with %v, want a *LostError with the new owner", cause)
		}
		time.Sleep(time.Minute)
		for _, lease := range []applock.Lease{set.Leases()[0], former[1]} {
			if cause := context.Cause(lease.Context()); cause != nil {
				t.Errorf("%s: %v, want it to be renewed", lease.Object(), cause)
			}
		}
	})
}
