package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// Goal: a cancelled caller returns at once, whatever the backend does meanwhile. Method: a backend that never answers and ignores
// cancellation: at the take, at the announcement, and at that of another waiter of the same operator.
func TestCancelledWaiterDoesNotWaitForTheBackend(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{fakebackend.Get, fakebackend.Announce, fakebackend.Retract} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, there program) {
				there.acquire(t, anHour(nightly))
				here.with(operation, fakebackend.Fault{After: 10 * time.Minute, Deaf: true})
				var waiters sync.WaitGroup
				for range 2 {
					waiters.Go(func() {
						began := time.Now()
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						request := anHour(nightly)
						request.Owner.Operator = "JDOE"
						_, err := here.Acquire(ctx, request)
						if took := time.Since(began); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("returned %v after %s, want the end of ctx after 1 s", err, took)
						}
					})
				}
				waiters.Wait()
				time.Sleep(time.Hour) // the backend comes to an end
				if n := here.backend.Waiting(); n > 0 {
					t.Errorf("%d are listed as waiting", n)
				}
			})
		})
	}
}

// Goal: a waiter that is cancelled while it is being listed is not listed afterwards. Method: a server that goes on with a
// statement whose client has gone, so that it would come after the retraction.
func TestCancelledAnnouncementIsRetracted(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		there.acquire(t, anHour(nightly))
		here.with(fakebackend.Announce, fakebackend.Fault{Before: 300 * time.Millisecond, Ghost: true})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := here.Acquire(ctx, anHour(nightly)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquire: %v, want that ctx has ended", err)
		}
		time.Sleep(5 * time.Second)
		if n := here.backend.Waiting(); n > 0 {
			t.Errorf("%d are listed as waiting", n)
		}
	})
}

// Goal: several waiters of one operator are listed while one of them waits, and the last one is served. Method: one that
// waits without a limit, and one that gives up, whose wait is over before the release.
func TestWaitersOfOneOperator(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		holder := there.acquire(t, anHour(nightly))
		request := anHour(nightly)
		request.Owner.Operator = "JDOE"
		served := make(chan applock.Lease, 1)
		go func() { served <- here.acquire(t, request) }()
		time.Sleep(time.Second)
		limited := request
		limited.MaxWait = 300 * time.Millisecond
		if _, err := here.TryAcquire(t.Context(), limited); !errors.Is(err, applock.ErrHeld) {
			t.Fatalf("try to acquire: %v, want ErrHeld", err)
		}
		time.Sleep(time.Minute)
		if n := here.backend.Waiting(); n != 1 {
			t.Errorf("%d waiters are listed, want 1", n)
		}
		release(t, holder)
		release(t, <-served)
	})
}

// Goal: a waiter whose row on the list is lost is listed again and woken, and nobody else is announced twice. Method: a list
// that is emptied, as by a failover, and then a release of which no message comes.
func TestLostRowsComeBack(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		here.with(fakebackend.Listen, fakebackend.Fault{Refuse: errors.ErrUnsupported})
		holder := there.acquire(t, anHour(nightly))
		served := make(chan applock.Lease, 1)
		go func() { served <- here.acquire(t, anHour(nightly)) }()
		time.Sleep(time.Minute)
		if n := here.backend.Calls(fakebackend.Announce); n != 1 {
			t.Errorf("%d announcements, want 1", n)
		}
		here.backend.Forget()
		time.Sleep(time.Second)
		if listed, calls := here.backend.Waiting(), here.backend.Calls(fakebackend.Announce); listed != 1 || calls != 2 {
			t.Errorf("%d are listed after %d announcements, want 1 after 2", listed, calls)
		}
		release(t, holder)
		began := time.Now()
		release(t, <-served)
		if late := time.Since(began); late > time.Second {
			t.Errorf("served %s after the release", late)
		}
	})
}
