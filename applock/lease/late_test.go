package lease_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// straysAfter returns leases on a backend that nobody polls, whose first take arrives so much later than its caller was told that nothing is
// known of it.
func straysAfter(delay time.Duration) (*lease.Leases, *fakebackend.Backend) {
	backend := fakebackend.New()
	backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		if call.Operation == fakebackend.Get && call.Number == 1 {
			return fakebackend.Fault{Stray: delay}
		}
		return fakebackend.Fault{}
	}
	return lease.New(backend, lease.Config{}), backend
}

func mustBeUnknown(t *testing.T, leases *lease.Leases) {
	t.Helper()
	if _, err := leases.TryAcquire(t.Context(), anHour(nightly)); !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Fatalf("got %v, want ErrOutcomeUnknown", err)
	}
}

func mustClose(t *testing.T, leases *lease.Leases) {
	t.Helper()
	if err := leases.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Goal: a take that arrives after its release keeps nobody waiting for longer than until the next release, which wakes who waits here.
// Method: takes that arrive 20 ms to 14 s late, a waiter who comes after each, and a backend that nobody polls.
func TestLateTakeIsReleasedAgain(t *testing.T) {
	t.Parallel()
	for late, free := range map[time.Duration]time.Duration{
		20 * time.Millisecond: time.Second,
		2 * time.Second:       5 * time.Second,
		14 * time.Second:      15 * time.Second,
	} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				leases, backend := straysAfter(late)
				defer mustClose(t, leases)
				began := time.Now()
				mustBeUnknown(t, leases)
				if took := time.Since(began); took > 0 {
					t.Errorf("the caller was kept for %s", took)
				}
				time.Sleep(late)
				synctest.Wait()
				if _, isHeld := backend.Holder(nightly); !isHeld {
					t.Fatal("the call has not taken the object: this test shows nothing")
				}
				release(t, mustAcquire(t, leases, anHour(nightly)))
				if took := time.Since(began); took != free {
					t.Errorf("the object was to be had after %s, want %s", took, free)
				}
			})
		})
	}
}

// Goal: a waiter here is woken even if the release that has ended a late take had no answer: by the next one. Method: a take that arrives
// 20 ms late, whose second release loses its answer.
func TestLateReleaseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases, backend := straysAfter(20 * time.Millisecond)
		defer mustClose(t, leases)
		backend.ChangeFault(func(former fakebackend.Faults) fakebackend.Faults {
			return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
				if call.Operation == fakebackend.Release && call.Number == 2 {
					return fakebackend.Fault{Lose: true}
				}
				return former(ctx, call)
			}
		})
		began := time.Now()
		mustBeUnknown(t, leases)
		time.Sleep(20 * time.Millisecond)
		release(t, mustAcquire(t, leases, anHour(nightly)))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the object was to be had after %s, want 5 s at the most", took)
		}
	})
}

// Goal: an outage after thousands of broken calls meets a few releases a second, and what arrived late is released behind it. Method: a
// thousand callers whose calls arrive 10 s late, in an outage of the releases alone that lasts for three minutes.
func TestLateTakesOutliveAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers, late, outage = 1000, 10 * time.Second, 3 * time.Minute
		backend := fakebackend.New()
		began := time.Now()
		backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			switch since := time.Since(began); {
			case call.Operation == fakebackend.Get:
				return fakebackend.Fault{Stray: late}
			case since > 2*time.Second && since < outage:
				return fakebackend.Fault{Refuse: applock.ErrUnreachable}
			}
			return fakebackend.Fault{}
		}
		leases := lease.New(backend, lease.Config{})
		defer mustClose(t, leases)
		for id := range callers {
			if _, err := leases.TryAcquire(t.Context(), anHour(account(id))); !errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		before := backend.Calls(fakebackend.Release)
		time.Sleep(time.Until(began.Add(outage - time.Minute)))
		if held := len(backend.Held()); held != callers {
			t.Errorf("%d objects are held in the outage, want %d", held, callers)
		}
		if most, made := 4*int(outage/time.Second), backend.Calls(fakebackend.Release)-before; made > most {
			t.Errorf("%d releases in the outage, want %d at most", made, most)
		}
		time.Sleep(time.Minute + 20*time.Second)
		if held := len(backend.Held()); held > 0 {
			t.Errorf("%d objects are held 20 s after the outage, want none", held)
		}
	})
}

// Goal: the memory for calls without an answer is bounded. Method: one more of them than there is room for.
func TestLateTakesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := lease.New(fakebackend.New(), lease.Config{})
		defer mustClose(t, leases)
		for id := range lease.MostLateTakes + 1 {
			leases.AddLateTake(account(id))
		}
		if count := leases.LateTakes(); count != lease.MostLateTakes {
			t.Errorf("%d are kept, want %d", count, lease.MostLateTakes)
		}
	})
}

// Goal: the grant of an abandoned call is released, even if the release fails for longer than it is retried at once. Method: a caller who
// gives up before the answer, and a backend on which releases fail for eight seconds.
func TestGivingBackGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend, began := fakebackend.New(), time.Now()
		backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			switch {
			case call.Operation == fakebackend.Get:
				return fakebackend.Fault{After: 2 * time.Second}
			case call.Operation == fakebackend.Release && time.Since(began) < 8*time.Second:
				return fakebackend.Fault{Refuse: errOutage}
			}
			return fakebackend.Fault{}
		}
		leases := lease.New(backend, lease.Config{})
		defer mustClose(t, leases)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := leases.Acquire(ctx, anHour(nightly)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("acquire: %v, want that ctx has ended", err)
		}
		time.Sleep(6 * time.Second)
		if _, isHeld := backend.Holder(nightly); !isHeld {
			t.Fatal("the object is free: this test shows nothing")
		}
		time.Sleep(5 * time.Second)
		if grant, isHeld := backend.Holder(nightly); isHeld {
			t.Errorf("%s still holds the object", grant.Owner)
		}
	})
}

// Goal: a release that the backend refuses until somebody changes a right or the schema is not repeated for ever. Method: a take without an
// answer, and a backend that refuses each release.
func TestRefusedLateReleaseEnds(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{applock.ErrPrivilege, applock.ErrSchema, applock.ErrInvalid, errors.ErrUnsupported} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := fakebackend.New()
				backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault { return fakebackend.Fault{Refuse: refusal} }
				leases := lease.New(backend, lease.Config{})
				defer mustClose(t, leases)
				leases.AddLateTake(nightly)
				time.Sleep(time.Hour)
				if made := backend.Calls(fakebackend.Release); made != 3 {
					t.Errorf("%d releases in an hour, want 3", made)
				}
				if left := leases.LateTakes(); left > 0 {
					t.Errorf("%d are to be released again, want none", left)
				}
			})
		})
	}
}

// Goal: Close releases each take without an answer until that has an answer, also where the release of another one fails, and no longer than it waits.
// Method: more than are released at a time; a server that refuses the first releases, and one that refuses all.
func TestCloseTriesAllLateTakes(t *testing.T) {
	t.Parallel()
	const takes = 20
	for name, refused := range map[string]int{"at first": takes, "always": math.MaxInt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := fakebackend.New()
				var mutex sync.Mutex
				answered := map[applock.Object]bool{}
				backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
					if call.Number <= refused {
						return fakebackend.Fault{Refuse: applock.ErrUnreachable}
					}
					mutex.Lock()
					defer mutex.Unlock()
					answered[call.Object] = true
					return fakebackend.Fault{}
				}
				leases := lease.New(backend, lease.Config{})
				for id := range takes {
					leases.AddLateTake(account(id))
				}
				began := time.Now()
				if err := leases.Close(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("Close took %s, want 5 s at the most", took)
				}
				if name == "at first" && len(answered) != takes {
					t.Errorf("%d of %d releases had an answer", len(answered), takes)
				}
			})
		})
	}
}
