package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// longHold is longer than any test.
	longHold = 10 * time.Minute
	// shortHold is one that a test waits for.
	shortHold = 400 * time.Millisecond
	// patience bounds what must happen, on a slow machine, too.
	patience = time.Minute
	// aWhile is how long a test looks whether something does not happen. It can miss a failure, not invent one.
	aWhile = 150 * time.Millisecond
)

// place is a place for locks, with a first client.
type place struct {
	backend Backend
	name    string
	locker  applock.Locker
}

func newPlace(t testing.TB, backend Backend) place {
	t.Helper()
	result := place{backend: backend, name: backend.Place(t)}
	result.locker = result.open(t)
	return result
}

// open returns another client, or the only one.
func (p place) open(t testing.TB) applock.Locker {
	t.Helper()
	if p.backend.OneClient && p.locker != nil {
		return p.locker
	}
	locker, closeClient, err := p.backend.Open(context.WithoutCancel(t.Context()), p.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeClient)
	return locker
}

func wallet(id any) applock.Object {
	return applock.Object{Type: "wallet", ID: fmt.Sprint(id)}
}

func request(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: longHold}
}

// mustAcquire acquires or ends the test.
func mustAcquire(t testing.TB, locker applock.Locker, request applock.AcquireRequest) *applock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := locker.Acquire(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func mustRelease(t testing.TB, lease *applock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// requireHeld wants the object to be held by somebody else.
func requireHeld(t testing.TB, locker applock.Locker, object applock.Object) {
	t.Helper()
	lease, err := locker.TryAcquire(t.Context(), request(object), 0)
	if !errors.Is(err, applock.ErrHeld) {
		t.Fatalf("try to acquire: %v, %v, want ErrHeld", lease, err)
	}
}

// requireFree wants the object to be free, now or soon.
func requireFree(t testing.TB, locker applock.Locker, object applock.Object) {
	t.Helper()
	mustRelease(t, mustAcquire(t, locker, request(object)))
}

// requireLost wants the lease's context to end because it was lost.
func requireLost(t testing.TB, lease *applock.Lease) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(patience):
		t.Fatal("the context of a lost lease has not ended")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) {
		t.Fatalf("the context ended with %v, want ErrLost", cause)
	}
}

// eventually wants a condition to come true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not so in the end: %s", what)
		}
	}
}

// waiting begins to acquire and returns where the lease or the error comes out. It returns when the waiter is in the
// queue, as far as that can be seen.
func (p place) waiting(ctx context.Context, t testing.TB, locker applock.Locker, request applock.AcquireRequest) <-chan acquired {
	t.Helper()
	listed := 0
	if p.backend.Waiters != nil {
		listed = p.backend.Waiters(t, p.name)
	}
	result := waiting(ctx, locker, request)
	if p.backend.Waiters != nil {
		eventually(t, "the waiter is listed", func() bool { return len(result) > 0 || p.backend.Waiters(t, p.name) > listed })
	}
	return result
}

func waiting(ctx context.Context, locker applock.Locker, request applock.AcquireRequest) <-chan acquired {
	result := make(chan acquired, 1)
	go func() {
		lease, err := locker.Acquire(ctx, request)
		result <- acquired{lease, err}
	}()
	time.Sleep(aWhile)
	return result
}

type acquired struct {
	lease *applock.Lease
	err   error
}

// take wants the waiter to have its lease, and returns it.
func take(t testing.TB, result <-chan acquired) *applock.Lease {
	t.Helper()
	select {
	case got := <-result:
		if got.err != nil {
			t.Fatal(got.err)
		}
		return got.lease
	case <-time.After(patience):
		t.Fatal("the waiter was not served")
	}
	return nil
}

// requireWaiting wants the waiter to wait on.
func requireWaiting(t testing.TB, result <-chan acquired) {
	t.Helper()
	select {
	case got := <-result:
		t.Fatalf("the waiter got %v, %v, want it to wait", got.lease, got.err)
	default:
	}
}
