package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
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
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
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
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
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

// Goal: an answer without a question does no harm. Method: for each renewal, an answer about another object, too.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
		return append(renewed(renewals), lease.Renewed{Object: applock.Object{Type: "job", ID: "other"}}), nil
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		time.Sleep(time.Minute)
		if cause := context.Cause(lease.Context()); cause != nil {
			t.Errorf("lost: %v", cause)
		}
	})
}

// manyLeases acquires that many leases, each on its own object of that kind.
func manyLeases(t *testing.T, leases *lease.Leases, kind string, number int, ttl time.Duration) []applock.Lease {
	t.Helper()
	held := make([]applock.Lease, number)
	for i := range held {
		object := applock.Object{Type: kind, ID: fmt.Sprint(i)}
		held[i] = mustAcquire(t, leases, applock.AcquireRequest{Object: object, MaxHold: 10 * time.Hour, TTL: ttl})
	}
	return held
}

func requireAlive(t *testing.T, leases []applock.Lease) {
	t.Helper()
	lost := 0
	var cause error
	for _, lease := range leases {
		if err := lease.Err(); err != nil {
			lost, cause = lost+1, err
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d leases were lost, such as %s: %v", lost, len(leases), leases[0].Object(), cause)
	}
}

// costly returns a backend whose renewals take so long for each grant, and answer so late, and are cut off by their contexts.
func costly(each, late time.Duration) *fakebackend.Backend {
	return unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		if call.Operation != fakebackend.Renew {
			return fakebackend.Fault{}
		}
		return fakebackend.Fault{Before: time.Duration(call.Grants) * each, After: late}
	})
}

// Goal: each lease is renewed at its own pace: one short TTL neither hurries nor loses the others. Method: 10,000 leases whose
// renewal takes longer than the short one lasts, and one of 1 s.
func TestHeavyAShortTTLHarmsNobody(t *testing.T) {
	t.Parallel()
	play(t, costly(150*time.Microsecond, 0), func(t *testing.T, leases *lease.Leases) {
		long := manyLeases(t, leases, "long", manyAtOnce, 45*time.Second)
		short := manyLeases(t, leases, "short", 1, time.Second)
		time.Sleep(3 * time.Minute)
		requireAlive(t, long)
		requireAlive(t, short)
	})
}

// Goal: the same with answers that come late. Method: 380 ms, a TTL of 10 s and one of 3 s, for which that is much; those of 1 s,
// which are taken again and again, cannot live.
func TestLateAnswersHarmNobody(t *testing.T) {
	t.Parallel()
	play(t, costly(0, 380*time.Millisecond), func(t *testing.T, leases *lease.Leases) {
		kept := append(manyLeases(t, leases, "long", 10, 10*time.Second), manyLeases(t, leases, "middling", 10, 3*time.Second)...)
		for range 180 {
			manyLeases(t, leases, "short", 1, time.Second)
			time.Sleep(time.Second)
		}
		requireAlive(t, kept)
	})
}

// Goal: calls that hang keep no lease waiting that has less time. Method: 3,000 leases of 30 s, whose first calls, two of which hang at a time, have
// no answer for the time of an attempt; and one of 3 s.
func TestHangingCallsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	var hanging atomic.Int64
	hanging.Store(6)
	backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		if call.Operation == fakebackend.Renew && call.Grants > 1 && hanging.Add(-1) >= 0 {
			return fakebackend.Fault{Before: time.Hour}
		}
		return fakebackend.Fault{}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		held := append(manyLeases(t, leases, "long", 3000, 30*time.Second), manyLeases(t, leases, "short", 1, 3*time.Second)...)
		time.Sleep(2 * time.Minute)
		requireAlive(t, held)
	})
}

// manyAtOnce is how many leases the tests of many have.
const manyAtOnce = 10_000

// Goal: many leases live on a server that is slow to answer however little it is asked, also after it was silent. Method:
// 10,000 of 9 s; an answer takes half a second, and so it does after a call without any.
func TestHeavyManyLeasesOfABusyServer(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		switch {
		case call.Operation != fakebackend.Renew:
			return fakebackend.Fault{}
		case silent.Load():
			return fakebackend.Fault{Before: time.Minute}
		}
		return fakebackend.Fault{After: 500 * time.Millisecond}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		many := manyLeases(t, leases, "many", manyAtOnce, 9*time.Second)
		time.Sleep(time.Minute)
		requireAlive(t, many)
		silent.Store(true)
		time.Sleep(time.Second)
		silent.Store(false)
		time.Sleep(time.Minute)
		requireAlive(t, many)
	})
}

// Goal: many leases live where one call at a time could not renew them all, because the server shares its processor among many and
// answers some calls late. Method: 10,000 of 9 s at 450 µs each, which is 4.5 s of calls for each 3 s; and at 200 µs where each seventh call takes
// five times as long.
func TestHeavyManyLeasesOfAnOverloadedServer(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]func(call fakebackend.Call) time.Duration{
		"Slow": func(fakebackend.Call) time.Duration { return 450 * time.Microsecond },
		"Uneven": func(call fakebackend.Call) time.Duration {
			if call.Number%7 == 0 {
				return time.Millisecond
			}
			return 200 * time.Microsecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
				if call.Operation != fakebackend.Renew {
					return fakebackend.Fault{}
				}
				return fakebackend.Fault{Before: time.Duration(call.Grants) * cost(call)}
			})
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				held := manyLeases(t, leases, "short", manyAtOnce, 9*time.Second)
				time.Sleep(2 * time.Minute)
				requireAlive(t, held)
			})
		})
	}
}

// Goal: held leases go before new ones. A program whose callers keep the server so busy that renewals are late makes its callers wait for a
// moment, and then go on. Method: leases whose renewal costs much more while others acquire, and callers that acquire again and again.
func TestRenewalsGoBeforeNewGrants(t *testing.T) {
	t.Parallel()
	const callers, minutes = 3, 1
	var mutex sync.Mutex
	var taken time.Time
	backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		mutex.Lock()
		defer mutex.Unlock()
		switch call.Operation {
		case fakebackend.Get:
			taken = time.Now()
			return fakebackend.Fault{Before: 50 * time.Millisecond}
		case fakebackend.Renew:
			each := time.Millisecond
			if time.Since(taken) < 100*time.Millisecond {
				each *= 10
			}
			return fakebackend.Fault{Before: time.Duration(call.Grants) * each}
		}
		return fakebackend.Fault{}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		held := manyLeases(t, leases, "held", 1000, 9*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), minutes*time.Minute)
		defer cancel()
		var cycles [callers]int
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				for ctx.Err() == nil {
					lease, err := leases.Acquire(ctx, anHour(applock.Object{Type: "wanted", ID: fmt.Sprint(i)}))
					if err == nil {
						cycles[i]++
						_ = lease.Release(context.WithoutCancel(ctx))
					}
				}
			})
		}
		group.Wait()
		requireAlive(t, held)
		for i, n := range cycles {
			if n < minutes*60 { // one a second, which is the longest moment
				t.Errorf("caller %d had %d turns", i, n)
			}
		}
	})
}

// Goal: renewals are spread, whenever leases began. Method: 4,000 leases that began in one moment; no interval has a moment
// with more than half of them.
func TestRenewalsAreSpread(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	moments := map[time.Duration]int{}
	began := time.Time{}
	backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		if call.Operation == fakebackend.Renew {
			mutex.Lock()
			defer mutex.Unlock()
			moments[time.Since(began)] += call.Grants
			if call.Grants > 500 {
				t.Errorf("a call of %d grants, want 500 at most", call.Grants)
			}
		}
		return fakebackend.Fault{}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		began = time.Now()
		held := manyLeases(t, leases, "held", 4000, 9*time.Second)
		time.Sleep(time.Minute)
		requireAlive(t, held)
		mutex.Lock()
		defer mutex.Unlock()
		for moment, grants := range moments {
			if grants > 2000 {
				t.Errorf("%d grants are renewed %s after the beginning", grants, moment)
			}
		}
	})
}

// Goal: the checks of leases without a TTL are rare, and tell of a loss. Method: a client's leases, as Client makes them; a
// supervisor ends one, and nobody here waits for it.
func TestIdleLeasesAreChecked(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(nil)
	synctest.Test(t, func(t *testing.T) {
		leases := lease.New(backend, lease.Config{})
		leases.CheckIdle()
		defer func() { _ = leases.Close() }()
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		long := mustAcquire(t, leases, applock.AcquireRequest{Object: account(1), MaxHold: 10 * time.Hour, TTL: time.Hour})
		time.Sleep(10*time.Minute + time.Second) // not when a check is due
		if n := backend.Calls(fakebackend.Renew); n > 20 {
			t.Errorf("%d calls in 10 min, want at most 20", n)
		}
		backend.End(nightly)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) || long.Err() != nil {
			t.Errorf("30 s after the loss: %v, want ErrLost; the other lease: %v", cause, long.Err())
		}
	})
}

// Goal: a release waits for no renewal and no transfer, and one that arrives later changes nothing. Method: calls that take 2 s to the backend
// or back, whose lease is released after 1 s, when somebody else takes the object.
func TestReleaseOvertakes(t *testing.T) {
	t.Parallel()
	to := applock.Owner{Operator: "ASMITH"}
	changes := map[string]func(ctx context.Context, held applock.Lease) error{
		fakebackend.Renew: func(ctx context.Context, held applock.Lease) error { return held.Renew(ctx) },
		fakebackend.Transfer: func(ctx context.Context, held applock.Lease) error {
			_, err := held.Transfer(ctx, to, time.Minute)
			return err
		},
	}
	for operation, change := range changes {
		for name, fault := range map[string]fakebackend.Fault{"there": {Before: 2 * time.Second}, "back": {After: 2 * time.Second}} {
			t.Run(operation+" "+name, func(t *testing.T) {
				t.Parallel()
				playSleeper(t, func(t *testing.T, here program, _ *sleeper) {
					here.backend.ChangeFault(func(fakebackend.Faults) fakebackend.Faults {
						return func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
							return map[string]fakebackend.Fault{operation: fault}[call.Operation]
						}
					})
					held := here.acquire(t, anHour(nightly))
					changed := make(chan error, 1)
					go func() { changed <- change(t.Context(), held) }()
					time.Sleep(time.Second)
					isHandedOver := operation == fakebackend.Transfer && name == "back"
					began, err := time.Now(), held.Release(t.Context())
					if took := time.Since(began); took > 0 || errors.Is(err, applock.ErrLost) != isHandedOver {
						t.Errorf("released after %s: %v, want at once", took, err)
					}
					next, want := anHour(nightly), applock.Owner{Operator: "JDOE"}
					next.Owner = want
					if isHandedOver {
						want = to
					} else {
						here.acquire(t, next)
					}
					err = <-changed
					if holder, _ := here.backend.Holder(nightly); holder.Owner != want || (err == nil) != isHandedOver && name == "there" {
						t.Errorf("the holder is %s, want %s; the call has returned %v", holder.Owner, want, err)
					}
				})
			})
		}
	}
}
