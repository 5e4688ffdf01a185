package locktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// settled gives a goroutine that has just begun to wait the time to do so.
func settled(t testing.TB) {
	t.Helper()
	time.Sleep(20 * time.Millisecond)
}

// requireHolder wants a refusal to tell the holder, where the backend knows it.
func (p place) requireHolder(t testing.TB, err error, holder *applock.Lease) {
	t.Helper()
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Object != holder.Object() {
		t.Fatalf("refused with %v, want a *HeldError for %s", err, holder.Object())
	}
	if p.backend.Owners && held.Holder.Owner != holder.Owner() {
		t.Errorf("refused because of %s, want %s", held.Holder.Owner, holder.Owner())
	}
}

// Goal: a wait of zero asks once, and says who has it. Method: a held object, by the same client and by another.
func tryAcquireAsksOnce(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	holder := mustAcquire(t, place.locker, request(wallet(1)))
	for _, locker := range []applock.Locker{place.locker, place.open(t)} {
		for _, wait := range []time.Duration{0, -time.Second} {
			_, err := locker.TryAcquire(t.Context(), request(wallet(1)), wait)
			place.requireHolder(t, err, holder)
		}
	}
	mustRelease(t, holder)
	lease, err := place.locker.TryAcquire(t.Context(), request(wallet(1)), 0)
	if err != nil {
		t.Fatalf("try to acquire a free object: %v", err)
	}
	mustRelease(t, lease)
}

// Goal: it gives up after its time, not before, says who has it, and leaves nothing behind. Method: a held object.
func tryAcquireTimesOut(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	holder := mustAcquire(t, place.locker, request(wallet(1)))
	for _, locker := range []applock.Locker{place.locker, place.open(t)} {
		began := time.Now()
		_, err := locker.TryAcquire(t.Context(), request(wallet(1)), aWhile)
		place.requireHolder(t, err, holder)
		if waited := time.Since(began); waited < aWhile {
			t.Errorf("gave up after %s, want %s", waited, aWhile)
		}
	}
	mustRelease(t, holder)
	place.requireNothingLeft(t)
	requireFree(t, place.open(t), wallet(1))
}

// Goal: a release within the time serves the waiter. Method: a waiter in the same client, and one in another.
func tryAcquireSucceedsInTime(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	for _, locker := range []applock.Locker{place.locker, place.open(t)} {
		holder := mustAcquire(t, place.locker, request(wallet(1)))
		result := make(chan acquired, 1)
		go func() {
			lease, err := locker.TryAcquire(t.Context(), request(wallet(1)), patience)
			result <- acquired{lease, err}
		}()
		time.Sleep(aWhile)
		requireWaiting(t, result)
		mustRelease(t, holder)
		mustRelease(t, take(t, result))
	}
}

// requireNothingLeft wants nobody to be listed as waiting.
func (p place) requireNothingLeft(t testing.TB) {
	t.Helper()
	if p.backend.Waiters != nil {
		eventually(t, "nobody waits", func() bool { return p.backend.Waiters(t, p.name) == 0 })
	}
}

// Goal: an acquisition that is cancelled while it waits ends at once, says why and who has it, and leaves nothing
// behind. Method: cancel a waiter; then release and see that nobody else has the object.
func cancelledAcquire(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	holder := mustAcquire(t, place.locker, request(wallet(1)))
	cause := errors.New("the user has left")
	for _, locker := range []applock.Locker{place.locker, place.open(t)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		result := place.waiting(ctx, t, locker, request(wallet(1)))
		requireWaiting(t, result)
		cancel(cause)
		select {
		case got := <-result:
			if !errors.Is(got.err, cause) {
				t.Errorf("cancelled: %v, want the cause", got.err)
			}
			place.requireHolder(t, got.err, holder)
		case <-time.After(patience):
			t.Fatal("a cancelled acquisition goes on waiting")
		}
		place.requireNothingLeft(t)
	}
	mustRelease(t, holder)
	requireFree(t, place.locker, wallet(1))
}

// Goal: the same at any moment, also while the call is under way. Method: deadlines of random length on a free object
// and on one that is being released; in the end it is free.
func cancelledAtAnyMoment(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	other := place.open(t)
	for range 100 {
		holder := mustAcquire(t, place.locker, request(wallet(1)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(10*time.Millisecond))))
		result := make(chan acquired, 1)
		go func() {
			lease, err := other.Acquire(ctx, request(wallet(1)))
			result <- acquired{lease, err}
		}()
		time.Sleep(time.Duration(rand.Int64N(int64(5 * time.Millisecond))))
		mustRelease(t, holder)
		if got := <-result; got.err == nil {
			mustRelease(t, got.lease)
		} else if !errors.Is(got.err, context.DeadlineExceeded) {
			t.Fatal(got.err)
		}
		cancel()
	}
	requireFree(t, place.locker, wallet(1))
	place.requireNothingLeft(t)
}

// Goal: the context of Acquire bounds acquiring only. Method: end it afterwards, also before the release.
func acquiringContextBoundsNoMore(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	lease, err := place.locker.Acquire(ctx, request(wallet(1)))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	time.Sleep(aWhile)
	if err := lease.Context().Err(); err != nil {
		t.Errorf("the lease ended with the acquiring context: %v", err)
	}
	if lease.Context().Value(key{}) != "kept" {
		t.Error("the values of the acquiring context are gone")
	}
	if err := lease.Release(ctx); err != nil {
		t.Errorf("release with a context that has ended: %v", err)
	}
	requireFree(t, place.open(t), wallet(1))
	if _, err := place.locker.Acquire(ctx, request(wallet(1))); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire with a context that has ended: %v, want context.Canceled", err)
	}
}
