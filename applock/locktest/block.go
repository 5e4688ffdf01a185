package locktest

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: Do releases however work ends, and says when work may not have been alone.
func do(t *testing.T, backend Backend) {
	failure := errors.New("work failed")
	t.Run("Error", func(t *testing.T) {
		place := newPlace(t, backend)
		err := place.locker.Do(t.Context(), request(wallet(1)), func(ctx context.Context, lease *applock.Lease) error {
			requireHeld(t, place.open(t), wallet(1))
			if lease.Object() != wallet(1) || ctx.Err() != nil {
				t.Errorf("working on %s, %v", lease.Object(), ctx.Err())
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("do: %v, want the error of work", err)
		}
		requireFree(t, place.open(t), wallet(1))
	})
	t.Run("Panic", func(t *testing.T) {
		place := newPlace(t, backend)
		func() {
			defer func() {
				if recovered := recover(); recovered != failure { //nolint:errorlint // the very value
					t.Errorf("recovered %v, want what work panicked with", recovered)
				}
			}()
			_ = place.locker.Do(t.Context(), request(wallet(1)), func(context.Context, *applock.Lease) error { panic(failure) })
		}()
		requireFree(t, place.open(t), wallet(1))
	})
	t.Run("Goexit", func(t *testing.T) {
		place := newPlace(t, backend)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = place.locker.Do(t.Context(), request(wallet(1)), func(context.Context, *applock.Lease) error {
				runtime.Goexit()
				return nil
			})
		}()
		<-ended
		requireFree(t, place.open(t), wallet(1))
	})
	t.Run("Nested", func(t *testing.T) {
		place := newPlace(t, backend)
		err := place.locker.Do(t.Context(), request(wallet(1)), func(ctx context.Context, _ *applock.Lease) error {
			return place.locker.Do(ctx, request(wallet(2)), func(ctx context.Context, _ *applock.Lease) error {
				return place.locker.Do(ctx, request(wallet(1)), func(context.Context, *applock.Lease) error { return nil })
			})
		})
		if err != nil {
			t.Error(err)
		}
		requireFree(t, place.open(t), wallet(1))
	})
	t.Run("Cancelled", func(t *testing.T) {
		place := newPlace(t, backend)
		ctx, cancel := context.WithCancelCause(t.Context())
		err := place.locker.Do(ctx, request(wallet(1)), func(ctx context.Context, _ *applock.Lease) error {
			cancel(failure)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, failure) {
			t.Errorf("do: %v, want the cause of the cancellation", err)
		}
		requireFree(t, place.open(t), wallet(1))
	})
	t.Run("Overrun", func(t *testing.T) {
		place := newPlace(t, backend)
		overrun := applock.AcquireRequest{Object: wallet(1), MaxHold: shortHold}
		err := place.locker.Do(t.Context(), overrun, func(ctx context.Context, _ *applock.Lease) error {
			select {
			case <-ctx.Done():
			case <-time.After(patience):
				t.Error("the context of work has not ended with the lease")
			}
			return nil
		})
		if !errors.Is(err, applock.ErrLost) {
			t.Errorf("do: %v, want ErrLost", err)
		}
		requireFree(t, place.open(t), wallet(1))
	})
}

// Goal: Close ends leases and waiters with a word, and frees what was held. Method: a client with a lease and a waiter.
func closing(t *testing.T, backend Backend) {
	name := backend.Place(t)
	locker, closeClient, err := backend.Open(context.WithoutCancel(t.Context()), name)
	if err != nil {
		t.Fatal(err)
	}
	lease := mustAcquire(t, locker, request(wallet(1)))
	result := waiting(t.Context(), locker, request(wallet(1)))
	requireWaiting(t, result)
	closeClient()
	requireLost(t, lease)
	select {
	case got := <-result:
		if got.err == nil {
			t.Error("a waiter got a lease from a closed client")
		}
	case <-time.After(patience):
		t.Fatal("a waiter outlives its client")
	}
	if _, err := locker.Acquire(t.Context(), request(wallet(2))); err == nil {
		t.Error("a closed client gave a lease")
	}
	if !backend.OneClient {
		requireFree(t, newClient(t, backend, name), wallet(1))
	}
}

func newClient(t testing.TB, backend Backend, name string) applock.Locker {
	t.Helper()
	return place{backend: backend, name: name}.open(t)
}
