package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// longHold and longTTL are longer than any stall of a machine.
	longHold = time.Hour
	longTTL  = time.Minute
	// lookAgain is how often a test checks a condition.
	lookAgain = 5 * time.Millisecond
)

// place is a place for locks, with a first client.
type place struct {
	backend Backend
	name    string
	// kind is the test's own object type, so that tests can share a place.
	kind   string
	locker lease.Locker
}

func newPlace(t testing.TB, backend Backend) place {
	t.Helper()
	result := place{backend: backend, name: backend.Place(t), kind: newKind()}
	result.locker = result.open(t)
	return result
}

// open returns another client, or the only one.
func (p place) open(t testing.TB) lease.Locker {
	t.Helper()
	if p.backend.OneClient && p.locker != nil {
		return p.locker
	}
	locker, closeClient, err := p.backend.Open(context.WithoutCancel(t.Context()), p.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeClient(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return locker
}

func newKind() string { return "wallet-" + rand.Text() }

// object returns an object of the test.
func (p place) object(id any) applock.Object { return objectOf(p.kind, id) }

func objectOf(kind string, id any) applock.Object {
	return applock.Object{Type: kind, ID: fmt.Sprint(id)}
}

func request(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: longHold}
}

// mustAcquire acquires, or fails the test.
func mustAcquire(t testing.TB, locker lease.Locker, request applock.AcquireRequest) applock.Lease {
	t.Helper()
	lease, err := locker.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func mustRelease(t testing.TB, lease applock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// requireHeld requires that another holder has the object.
func requireHeld(t testing.TB, locker lease.Locker, object applock.Object) {
	t.Helper()
	lease, err := locker.TryAcquire(t.Context(), request(object))
	if !errors.Is(err, applock.ErrHeld) {
		t.Fatalf("try to acquire: %v, %v, want ErrHeld", lease, err)
	}
}

// requireFree requires that the object is free, now or soon.
func requireFree(t testing.TB, locker lease.Locker, object applock.Object) {
	t.Helper()
	mustRelease(t, mustAcquire(t, locker, request(object)))
}

// requireLost requires that the lease's context ends because the lease was lost.
func requireLost(t testing.TB, lease applock.Lease) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-t.Context().Done():
		t.Fatal("the context of a lost lease has not ended")
	}
	cause := context.Cause(lease.Context())
	if !errors.Is(cause, applock.ErrLost) || errors.Is(cause, applock.ErrHeld) {
		t.Fatalf("the context ended with %v, want ErrLost", cause)
	}
}

// requireHolder requires that a refusal names the holder, if the backend knows it.
func (p place) requireHolder(t testing.TB, err error, holder applock.Lease) {
	t.Helper()
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Object != holder.Object() {
		t.Fatalf("refused with %v, want a *HeldError for %s", err, holder.Object())
	}
	if p.backend.Owners && held.Holder.Owner != holder.Owner() {
		t.Errorf("refused because of %s, want %s", held.Holder.Owner, holder.Owner())
	}
}

// requireNothingLeft requires that no waiter is listed, now or soon.
func (p place) requireNothingLeft(t testing.TB) {
	t.Helper()
	if p.backend.Waiters != nil {
		eventually(t, "nobody waits", func() bool { return p.backend.Waiters(t, p.name, p.kind) == 0 })
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for !condition() {
		select {
		case <-time.After(lookAgain):
		case <-t.Context().Done():
			t.Fatalf("not so in the end: %s", what)
		}
	}
}

// acquired is the result of an Acquire.
type acquired struct {
	lease applock.Lease
	err   error
}

// waiting begins to acquire and returns a channel for the result. If the backend lists waiters, it returns when this one is listed.
// Otherwise the waiter may not have begun to wait, and must be served all the same.
func (p place) waiting(ctx context.Context, t testing.TB, locker lease.Locker) <-chan acquired {
	t.Helper()
	listed := 0
	if p.backend.Waiters != nil {
		listed = p.backend.Waiters(t, p.name, p.kind)
	}
	result := p.acquiring(ctx, locker)
	if p.backend.Waiters != nil {
		eventually(t, "the waiter is listed", func() bool { return len(result) > 0 || p.backend.Waiters(t, p.name, p.kind) > listed })
	}
	return result
}

// acquiring begins to acquire and returns a channel for the result.
func (p place) acquiring(ctx context.Context, locker lease.Locker) <-chan acquired {
	result := make(chan acquired, 1)
	go func() {
		lease, err := locker.Acquire(ctx, request(p.object(1)))
		result <- acquired{lease, err}
	}()
	return result
}

// ended waits for the waiter's result.
func ended(t testing.TB, result <-chan acquired) acquired {
	t.Helper()
	select {
	case got := <-result:
		return got
	case <-t.Context().Done():
		t.Fatal("the waiter goes on waiting")
	}
	return acquired{}
}
