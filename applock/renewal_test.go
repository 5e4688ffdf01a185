package applock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/internal/fakebackend"
)

// The tests of this file renew leases, by themselves and by Renew, while answers are slow or missing.

// alone marks the context of a renewal by Renew.
type alone struct{}

// Goal: after Renew the lease lasts as long as that has promised, and is never trusted for longer than the backend keeps
// the lock. Method: near the end of MaxHold, where a batch is made for the last second, the batch and Renew cross, one or
// both of them slowly.
func TestRenewBesideABatch(t *testing.T) {
	t.Parallel()
	const rest = 500 * time.Millisecond
	tests := map[string]struct{ batchThere, batchBack, renewBack time.Duration }{
		"BatchIsLate":     {batchThere: rest},
		"AnswerIsLate":    {batchBack: rest},
		"AnswerOvertaken": {batchThere: 200 * time.Millisecond, renewBack: rest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var slowly atomic.Bool // the next batch
			backend := unpolledFake(func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
				switch {
				case call.Operation != fakebackend.Renew:
				case ctx.Value(alone{}) != nil:
					return fakebackend.Fault{After: test.renewBack}
				case slowly.CompareAndSwap(true, false):
					return fakebackend.Fault{Before: test.batchThere, After: test.batchBack}
				}
				return fakebackend.Fault{}
			})
			play(t, backend, func(t *testing.T, leases *applock.Leases) {
				request := applock.AcquireRequest{Object: nightly, MaxHold: 10 * time.Second, TTL: 9 * time.Second}
				lease := mustAcquire(t, leases, request)
				time.Sleep(9*time.Second - time.Millisecond) // the third batch comes at 9 s
				slowly.Store(true)
				time.Sleep(2 * time.Millisecond)
				if err := lease.Renew(context.WithValue(t.Context(), alone{}, true)); err != nil {
					t.Fatal(err)
				}
				for range 40 {
					time.Sleep(100 * time.Millisecond)
					if cause := context.Cause(lease.Context()); cause != nil {
						t.Fatalf("renewed for 10 s, and %v", cause)
					}
					if trust, left := time.Until(lease.Deadline()), -backend.FreeFor(nightly); trust > left {
						t.Fatalf("trusted for %s, and the lock ends in %s", trust, left)
					}
				}
			})
		})
	}
}

// Goal: a call of Renew that gets no answer does not keep other leases from being renewed, nor its own if the call can be
// broken off. Method: it takes a minute, or until its context ends.
func TestHangingRenew(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]fakebackend.Fault{
		"Deaf":        {Before: time.Minute, Deaf: true},
		"Cancellable": {Before: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := unpolledFake(func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
				if call.Operation == fakebackend.Renew && ctx.Value(alone{}) != nil {
					return hang
				}
				return fakebackend.Fault{}
			})
			play(t, backend, func(t *testing.T, leases *applock.Leases) {
				lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
				bystander := mustAcquire(t, leases, applock.AcquireRequest{Object: account(1), MaxHold: time.Hour, TTL: 9 * time.Second})
				_ = lease.Renew(context.WithValue(t.Context(), alone{}, true)) // whatever it returns
				time.Sleep(time.Minute)
				if cause := context.Cause(bystander.Context()); cause != nil {
					t.Errorf("a bystander: %v", cause)
				}
				if cause := context.Cause(lease.Context()); cause != nil && name == "Cancellable" {
					t.Errorf("its own lease: %v", cause)
				}
			})
		})
	}
}

// Goal: a lease that a renewal has passed over, because a transaction asserts it, is asked about again soon. Method: such a
// transaction from before the first renewal until shortly before the end of the lease.
func TestPassedOverIsAskedAgainSoon(t *testing.T) {
	t.Parallel()
	var began time.Time
	backend := &playedBackend{renew: func(renewals []applock.Renewal) ([]applock.Renewed, error) {
		if time.Since(began) < 7*time.Second {
			return nil, nil
		}
		return renewed(renewals), nil
	}}
	play(t, backend, func(t *testing.T, leases *applock.Leases) {
		began = time.Now()
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		time.Sleep(30 * time.Second)
		if cause := context.Cause(lease.Context()); cause != nil {
			t.Errorf("lost, though it could be renewed from 7 s on: %v", cause)
		}
	})
}

// Goal: an answer that nobody has asked for does no harm. Method: one about another object beside each that was asked for.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{renew: func(renewals []applock.Renewal) ([]applock.Renewed, error) {
		return append(renewed(renewals), applock.Renewed{Object: applock.Object{Type: "job", ID: "other"}}), nil
	}}
	play(t, backend, func(t *testing.T, leases *applock.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		time.Sleep(time.Minute)
		if cause := context.Cause(lease.Context()); cause != nil {
			t.Errorf("lost: %v", cause)
		}
	})
}

// Goal: a negative interval checks nothing. Method: count the checks; each takes a second, so that the test's time goes on.
func TestNegativeCheckInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		backend := &playedBackend{renew: func(renewals []applock.Renewal) ([]applock.Renewed, error) {
			checks.Add(1)
			time.Sleep(time.Second)
			return renewed(renewals), nil
		}}
		leases := applock.NewLeases(backend, applock.LeasesConfig{CheckInterval: -time.Second})
		defer func() { _ = leases.Close() }()
		mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		time.Sleep(10 * time.Second)
		if n := checks.Load(); n > 0 {
			t.Errorf("%d checks", n)
		}
	})
}

// Goal: the answer to a renewal may come while the lease is being released. Method: both calls overlap; the race detector
// looks at it.
func TestReleaseDuringARenewal(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{
		renew: func(renewals []applock.Renewal) ([]applock.Renewed, error) {
			time.Sleep(2 * time.Second) // from 3 s to 5 s
			return renewed(renewals), nil
		},
		release: func(applock.Grant) error {
			time.Sleep(2 * time.Second) // from 4 s to 6 s
			return nil
		},
	}
	play(t, backend, func(t *testing.T, leases *applock.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		time.Sleep(4 * time.Second)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
