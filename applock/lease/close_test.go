package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// Goal: after Close everything is ErrClosed; what was held is free, and its holders hear of it. Method: a lease, waiters in
// the queue, and each call afterwards; Close once more.
func TestClose(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		lease := here.acquire(t, anHour(nightly))
		results := make(chan error, 3)
		for range 2 {
			go func() {
				_, err := here.Acquire(t.Context(), anHour(nightly))
				results <- err
			}()
		}
		time.Sleep(time.Minute)
		go func() { results <- here.Close() }()
		if err := here.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		closings := 0
		for range 3 {
			switch err := <-results; {
			case err == nil:
				closings++
			case !errors.Is(err, applock.ErrClosed):
				t.Errorf("a waiter got %v, want ErrClosed", err)
			}
		}
		if cause := context.Cause(lease.Context()); closings != 1 || !errors.Is(cause, applock.ErrLost) || !errors.Is(cause, applock.ErrClosed) {
			t.Errorf("a lease ended with %v, want ErrLost and ErrClosed", cause)
		}
		_, acquireErr := here.Acquire(t.Context(), anHour(nightly))
		_, tryErr := here.TryAcquire(t.Context(), anHour(nightly))
		doErr := here.Do(t.Context(), anHour(nightly), nil)
		renewErr := lease.Renew(t.Context())
		for name, err := range map[string]error{"acquire": acquireErr, "try": tryErr, "do": doErr, "renew": renewErr} {
			if !errors.Is(err, applock.ErrClosed) {
				t.Errorf("%s: %v, want ErrClosed", name, err)
			}
		}
		release(t, there.acquire(t, anHour(nightly)))
	})
}

// Goal: Close says what it could not release, and takes no longer than 5 s. Method: a backend that does not answer.
func TestCloseOfASilentBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := fakebackend.New()
		leases := lease.New(fakebackend.Program{Backend: backend}, lease.Config{})
		p := program{Leases: leases, backend: backend}
		backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault { return fakebackend.Fault{} }
		p.acquire(t, anHour(nightly))
		other := p.acquire(t, anHour(account(1)))
		p.with(fakebackend.Release, fakebackend.Fault{Before: time.Hour})
		result := make(chan error, 1)
		go func() { result <- other.Release(t.Context()) }()
		time.Sleep(3 * time.Second)
		began := time.Now()
		err := leases.Close()
		if took := time.Since(began); took != 5*time.Second || err == nil {
			t.Errorf("closed after %s with %v, want an error after 5 s", took, err)
		}
		if err := <-result; err == nil {
			t.Error("a release without an answer has succeeded")
		}
	})
}

// Goal: Close ends calls that are under way, gives back what they take, and lets a release end. Method: both take 2 s, and
// Close comes after one.
func TestCloseDuringCalls(t *testing.T) {
	t.Parallel()
	calls := map[string]func(t *testing.T, leases *lease.Leases) error{
		"Acquire": func(t *testing.T, leases *lease.Leases) error {
			_, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
			if err == nil {
				t.Error("a lease of leases that are closed")
			}
			return nil
		},
		"Release": func(t *testing.T, leases *lease.Leases) error {
			return mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}).Release(t.Context())
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := unpolledFake(once(fakebackend.Release, fakebackend.Fault{Before: 2 * time.Second}))
				if name == "Acquire" {
					backend = unpolledFake(once(fakebackend.Get, fakebackend.Fault{After: 2 * time.Second}))
				}
				leases := lease.New(backend, lease.Config{})
				result := make(chan error, 1)
				go func() { result <- call(t, leases) }()
				time.Sleep(time.Second)
				_ = leases.Close()
				if left := -backend.FreeFor(nightly); left > 0 {
					t.Errorf("the object stays locked for %s", left)
				}
				if err := <-result; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Goal: Close returns in time also while a Renew gets no answer. Method: a caller's context that never ends.
func TestCloseDuringAHangingRenew(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(once(fakebackend.Renew, fakebackend.Fault{Before: time.Hour}))
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: 10 * time.Hour})
		go func() { _ = lease.Renew(context.WithoutCancel(t.Context())) }()
		time.Sleep(time.Second)
		began := time.Now()
		_ = leases.Close()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("closed after %s, want 5 s at the most", took)
		}
	})
}
