package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: the context of a lease re-enters, at any depth; only the last release frees; everybody else waits. Method: three
// leases on one object, released in two orders, with a waiter from the same client and one from another.
func reentrancy(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	for _, outermostFirst := range []bool{false, true} {
		place.requireNothingLeft(t)
		outer := mustAcquire(t, place.locker, request(wallet(1)))
		between, err := place.locker.Acquire(outer.Context(), request(wallet(2)))
		if err != nil {
			t.Fatal(err)
		}
		inner, err := place.locker.Acquire(between.Context(), request(wallet(1)))
		if err != nil {
			t.Fatalf("re-enter: %v", err)
		}
		innermost, err := place.locker.TryAcquire(inner.Context(), request(wallet(1)), 0)
		if err != nil {
			t.Fatalf("re-enter without waiting: %v", err)
		}
		if inner.Owner() != outer.Owner() || inner.Fence() != outer.Fence() {
			t.Errorf("re-entered as %s with fence %d, want %s and %d", inner.Owner(), inner.Fence(), outer.Owner(), outer.Fence())
		}
		here := place.waiting(t.Context(), t, place.locker, request(wallet(1)))
		there := place.waiting(t.Context(), t, place.open(t), request(wallet(1)))
		leases := []*applock.Lease{innermost, inner, between, outer}
		if outermostFirst {
			leases = []*applock.Lease{outer, between, inner, innermost}
		}
		for _, lease := range leases {
			requireWaiting(t, here)
			requireWaiting(t, there)
			mustRelease(t, lease)
			if !errors.Is(context.Cause(lease.Context()), applock.ErrNotHeld) {
				t.Errorf("the context of a released lease ended with %v", context.Cause(lease.Context()))
			}
		}
		select { // either may be first
		case got := <-here:
			mustRelease(t, got.lease)
			mustRelease(t, take(t, there))
		case got := <-there:
			mustRelease(t, got.lease)
			mustRelease(t, take(t, here))
		}
	}
	stale := mustAcquire(t, place.locker, request(wallet(1)))
	mustRelease(t, stale)
	anew, err := place.locker.Acquire(context.WithoutCancel(stale.Context()), request(wallet(1)))
	if err != nil {
		t.Fatal(err)
	}
	requireHeld(t, place.open(t), wallet(1))
	mustRelease(t, anew)
}

// Goal: the first MaxHold governs. Method: re-enter with a shorter and with a longer one.
func reentrancyKeepsMaxHold(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	outer := mustAcquire(t, place.locker, request(wallet(1)))
	deadline := outer.Deadline()
	for _, maxHold := range []time.Duration{time.Millisecond, 2 * longHold} {
		inner, err := place.locker.Acquire(outer.Context(), applock.AcquireRequest{Object: wallet(1), MaxHold: maxHold})
		if err != nil {
			t.Fatal(err)
		}
		if !inner.Deadline().Equal(deadline) {
			t.Errorf("re-entering with %s moved the deadline by %s", maxHold, inner.Deadline().Sub(deadline))
		}
		mustRelease(t, inner)
	}
	mustRelease(t, outer)
}

// Goal: the lease ends at MaxHold whatever its holder does, with a signal, and then is somebody else's. Method: a holder
// that does not release, with a lease that re-entered, and a waiter from another client; the late release says so and
// does no harm.
func maxHold(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	began := time.Now()
	outer := mustAcquire(t, place.locker, applock.AcquireRequest{Object: wallet(1), MaxHold: shortHold})
	inner, err := place.locker.Acquire(outer.Context(), request(wallet(1)))
	if err != nil {
		t.Fatal(err)
	}
	if trust := outer.Deadline().Sub(began); trust > shortHold+time.Since(began) {
		t.Errorf("trusted for %s, want less than %s", trust, shortHold)
	}
	next := take(t, waiting(t.Context(), place.open(t), request(wallet(1))))
	if held := time.Since(began); held < shortHold*8/10 {
		t.Errorf("taken over after %s of %s", held, shortHold)
	}
	for _, lease := range []*applock.Lease{inner, outer} {
		requireLost(t, lease)
		if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
			t.Errorf("late release: %v, want ErrLost", err)
		}
	}
	requireHeld(t, place.locker, wallet(1))
	mustRelease(t, next)
}

// Goal: a lease with a short TTL lives up to MaxHold, and ends then. Method: a TTL that passes twice.
func renewalUpToMaxHold(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	const ttl, lives = time.Second, 3200 * time.Millisecond
	began := time.Now()
	lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: wallet(1), MaxHold: lives, TTL: ttl})
	other := place.open(t)
	for time.Since(began) < 2300*time.Millisecond {
		if err := context.Cause(lease.Context()); err != nil {
			t.Fatalf("ended after %s: %v", time.Since(began), err)
		}
		requireHeld(t, other, wallet(1))
		time.Sleep(aWhile)
	}
	requireLost(t, lease)
	if held := time.Since(began); held < lives*8/10 {
		t.Errorf("held for %s of %s", held, lives)
	}
	requireFree(t, other, wallet(1))
}

// Goal: Renew gives another MaxHold. Method: renew shortly before the end; then let it end.
func renewBeginsMaxHoldAnew(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: wallet(1), MaxHold: longHold})
	before := lease.Deadline()
	time.Sleep(aWhile)
	if err := lease.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if later := lease.Deadline().Sub(before); later < aWhile/2 {
		t.Errorf("the deadline is later by %s, want %s", later, aWhile)
	}
	requireHeld(t, place.open(t), wallet(1))
	mustRelease(t, lease)
	if err := lease.Renew(t.Context()); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("renew after release: %v, want ErrNotHeld", err)
	}
	requireFree(t, place.open(t), wallet(1))
}

// Goal: the holder hears of a loss, and cannot release what is somebody else's now. Method: each way of losing, with a
// TTL and without; a new holder; then the former one releases, renews and tries to re-enter.
func loss(t *testing.T, backend Backend) {
	for name, lose := range backend.Losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := newPlace(t, backend)
			lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: wallet(1), MaxHold: longHold, TTL: time.Second})
			lose(t, place.name, wallet(1))
			next := mustAcquire(t, place.open(t), request(wallet(1)))
			requireLost(t, lease)
			if err := lease.Renew(t.Context()); !errors.Is(err, applock.ErrLost) {
				t.Errorf("renew after the loss: %v, want ErrLost", err)
			}
			if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
				t.Errorf("release after the loss: %v, want ErrLost", err)
			}
			if _, err := place.locker.TryAcquire(context.WithoutCancel(lease.Context()), request(wallet(1)), 0); !errors.Is(err, applock.ErrHeld) {
				t.Errorf("re-enter after the loss: %v, want ErrHeld", err)
			}
			if err := context.Cause(next.Context()); err != nil {
				t.Errorf("the new holder's context has ended: %v", err)
			}
			mustRelease(t, next)
			requireFree(t, place.locker, wallet(1))
		})
	}
}

// Goal: later grants have greater fences. Method: grants of several clients in a row.
func fences(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	last := applock.Fence(0)
	for range 5 {
		for _, locker := range []applock.Locker{place.locker, place.open(t)} {
			lease := mustAcquire(t, locker, request(wallet(1)))
			switch {
			case !backend.Fences && lease.Fence() != 0:
				t.Errorf("fence %d on a backend without fences", lease.Fence())
			case backend.Fences && lease.Fence() <= last:
				t.Errorf("fence %d after %d", lease.Fence(), last)
			}
			last = lease.Fence()
			mustRelease(t, lease)
		}
	}
}

// Goal: releasing twice is releasing once. Method: release again after somebody else has taken the object.
func releaseIsIdempotent(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	lease := mustAcquire(t, place.locker, request(wallet(1)))
	mustRelease(t, lease)
	next := mustAcquire(t, place.locker, request(wallet(1)))
	mustRelease(t, lease)
	requireHeld(t, place.open(t), wallet(1))
	mustRelease(t, next)
}

// Goal: whatever is wrong with a request is said before anything happens, and names the argument.
func badArguments(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	tests := map[string]applock.AcquireRequest{
		"Object.Type":   {Object: applock.Object{ID: "1"}, MaxHold: longHold},
		"Object.ID":     {Object: applock.Object{Type: "wallet"}, MaxHold: longHold},
		"Owner.Operator":   {Object: wallet(1), Owner: applock.Owner{Operator: "\x00"}, MaxHold: longHold},
		"Owner.Department": {Object: wallet(1), Owner: applock.Owner{Department: "\xff"}, MaxHold: longHold},
		"MaxHold":      {Object: wallet(1)},
		"TTL":   {Object: wallet(1), MaxHold: longHold, TTL: 1500 * time.Millisecond},
	}
	for argument, request := range tests {
		_, err := place.locker.Acquire(t.Context(), request)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("%s: %v, want ErrInvalid with that argument", argument, err)
		}
	}
	requireFree(t, place.locker, wallet(1))
}
