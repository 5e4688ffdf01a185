package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// The tests of this file have time pass that a process does not notice.

// sleeper is a machine whose monotonic clock, and so each timer, stands still while it sleeps.
type sleeper struct{ slept atomic.Int64 }

func (s *sleeper) clock() time.Duration { return time.Duration(s.slept.Load()) }

func (s *sleeper) sleep(long time.Duration) { s.slept.Add(int64(long)) }

// playSleeper runs a test with leases of a machine that can sleep.
func playSleeper(t *testing.T, test func(t *testing.T, here program, machine *sleeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		machine := &sleeper{}
		backend := fakebackend.New()
		leases := lease.New(fakebackend.Program{Backend: backend}, lease.Config{})
		leases.SleepBy(machine.clock)
		defer func() { _ = leases.Close() }()
		test(t, program{Leases: leases, backend: backend}, machine)
	})
}

// Goal: a lease that became due while the machine slept is renewed soon after. Method: a sleep of most of what the lease lasts.
func TestRenewalsAfterASleep(t *testing.T) {
	t.Parallel()
	playSleeper(t, func(t *testing.T, here program, machine *sleeper) {
		lease := here.acquire(t, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		time.Sleep(500 * time.Millisecond)
		machine.sleep(6 * time.Second)
		time.Sleep(time.Minute)
		if err := lease.Err(); err != nil {
			t.Errorf("a minute after the sleep: %v", err)
		}
	})
}

// Goal: a holder that wakes after the end of its lease sees the loss at once in Err, never re-enters, and its context ends within a second.
// Method: a machine that sleeps for longer than the lease lasts.
func TestSleepEndsTrust(t *testing.T) {
	t.Parallel()
	playSleeper(t, func(t *testing.T, here program, machine *sleeper) {
		lease := here.acquire(t, applock.AcquireRequest{Object: nightly, MaxHold: time.Minute})
		other := here.acquire(t, applock.AcquireRequest{Object: account(1), MaxHold: time.Minute})
		idle := here.acquire(t, applock.AcquireRequest{Object: account(3), MaxHold: time.Minute})
		long := here.acquire(t, applock.AcquireRequest{Object: account(2), MaxHold: time.Hour})
		if err := lease.Err(); err != nil {
			t.Errorf("a live lease: %v", err)
		}
		machine.sleep(2 * time.Minute)
		again, err := here.Acquire(context.WithoutCancel(lease.Context()), applock.AcquireRequest{Object: nightly, MaxHold: time.Minute})
		if err != nil || again.Fence() == lease.Fence() {
			t.Errorf("acquired with the context of a lease that is past: %v, %v, want a new grant", again, err)
		}
		if _, err := here.Acquire(other.Context(), anHour(account(1))); !errors.Is(err, applock.ErrLost) || errors.Is(err, applock.ErrHeld) {
			t.Errorf("acquired with a context that has ended with its lease: %v, want its cause", err)
		}
		if err := lease.Err(); !errors.Is(err, applock.ErrLost) {
			t.Errorf("after its end: %v, want ErrLost", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if cause := context.Cause(idle.Context()); !errors.Is(cause, applock.ErrLost) {
			t.Errorf("a second after the end of the sleep: %v, want ErrLost", cause)
		}
		if err := long.Err(); err != nil {
			t.Errorf("a lease that lasts longer: %v", err)
		}
		time.Sleep(58 * time.Minute)
		synctest.Wait()
		if cause := context.Cause(long.Context()); !errors.Is(cause, applock.ErrLost) {
			t.Errorf("an hour after it began, of which it has slept: %v, want ErrLost", cause)
		}
	})
}

// Goal: the trust of a call that was sent before a sleep counts from its sending. Method: the machine sleeps while a grant and while a
// renewal are on their way.
func TestSleepDuringACall(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{fakebackend.Get, fakebackend.Renew} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			playSleeper(t, func(t *testing.T, here program, machine *sleeper) {
				here.backend.ChangeFault(func(fakebackend.Faults) fakebackend.Faults {
					return func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
						if call.Operation == operation {
							machine.sleep(8 * time.Second)
						}
						return fakebackend.Fault{}
					}
				})
				lease, err := here.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				if operation == fakebackend.Renew {
					if err := lease.Renew(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if left := time.Until(lease.Deadline()); left > 2*time.Second {
					t.Errorf("trusted for %s, want no more than 2 s", left)
				}
				time.Sleep(2 * time.Second)
				if err := lease.Err(); !errors.Is(err, applock.ErrLost) {
					t.Errorf("at its end: %v, want ErrLost", err)
				}
			})
		})
	}
}

// Goal: a lease whose time was over stays lost, although the backend renews it before a timer has noticed. Method: the machine sleeps beyond
// the deadline just before the keeper renews, before the holder does, and while the keeper's renewal is on its way.
func TestSleepIsNotUndoneByARenewal(t *testing.T) {
	t.Parallel()
	const asleep = 7 * time.Second // from 3.1 s on: beyond the deadline of 9 s, which the lock outlasts by 1 s
	for _, name := range []string{"keeper", "holder", "under way"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playSleeper(t, func(t *testing.T, here program, machine *sleeper) {
				here.backend.ChangeFault(func(fakebackend.Faults) fakebackend.Faults {
					return func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
						if name == "under way" && call.Operation == fakebackend.Renew {
							machine.sleep(asleep)
						}
						return fakebackend.Fault{}
					}
				})
				lease := here.acquire(t, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 10 * time.Second})
				time.Sleep(3100 * time.Millisecond)
				if name != "under way" {
					machine.sleep(asleep)
				}
				if name == "holder" {
					if err := lease.Renew(t.Context()); !errors.Is(err, applock.ErrLost) {
						t.Errorf("renewed after its end: %v, want ErrLost", err)
					}
				}
				time.Sleep(300 * time.Millisecond)
				synctest.Wait()
				if renewals := here.backend.Calls(fakebackend.Renew); renewals != 1 {
					t.Errorf("%d renewals, want one", renewals)
				}
				if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) {
					t.Errorf("renewed after its end: %v, want ErrLost", cause)
				}
				release(t, here.acquire(t, anHour(nightly)))
			})
		})
	}
}

// Goal: a machine that has not slept is one that is awake, whatever its load. Method: the clock of this one, many times.
func TestNobodySleepsHere(t *testing.T) {
	t.Parallel()
	leases := lease.New(fakebackend.New(), lease.Config{})
	defer func() { _ = leases.Close() }()
	for range 10_000 {
		if slept := leases.Slept(); slept != 0 {
			t.Fatalf("slept for %s", slept)
		}
	}
}

// Goal: the context of a lease has a deadline: the end of MaxHold, which Renew puts off. Method: leases with and without a TTL,
// and a set.
func TestDeadlineOfContexts(t *testing.T) {
	t.Parallel()
	playSleeper(t, func(t *testing.T, here program, _ *sleeper) {
		for _, ttl := range []time.Duration{0, 9 * time.Second} {
			request := applock.AcquireRequest{Object: account(ttl), MaxHold: time.Minute, TTL: ttl}
			lease := here.acquire(t, request)
			for range 2 {
				deadline, ok := lease.Context().Deadline()
				if left := time.Until(deadline); !ok || left > time.Minute || left < time.Minute-time.Second {
					t.Errorf("ttl %s: the deadline is in %s, %t, want a minute", ttl, left, ok)
				}
				time.Sleep(20 * time.Second)
				if err := lease.Renew(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		set, err := here.AcquireAllBy(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{account(1), account(2)}, MaxHold: time.Minute}, here.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		if deadline, ok := set.Context().Deadline(); !ok || time.Until(deadline) > time.Minute {
			t.Errorf("the deadline of a set: %v, %t", deadline, ok)
		}
	})
}

// Goal: Do keeps the caller's deadline, and what is said when it has passed. Method: a caller with a deadline and with a cause
// of its own, and one that has none.
func TestDoKeepsTheDeadline(t *testing.T) {
	t.Parallel()
	cause := errors.New("the shift is over")
	playSleeper(t, func(t *testing.T, here program, _ *sleeper) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, cause)
		defer cancel()
		want, _ := ctx.Deadline()
		err := here.Do(ctx, anHour(nightly), func(ctx context.Context, _ applock.Lease) error {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			if got, ok := ctx.Deadline(); !ok || !got.Equal(want) {
				t.Errorf("the deadline is %v, %t, want the caller's", got, ok)
			}
			<-child.Done()
			return errors.Join(ctx.Err(), child.Err(), context.Cause(ctx))
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("do: %v, want DeadlineExceeded and the caller's cause", err)
		}
		err = here.Do(context.WithoutCancel(t.Context()), anHour(nightly), func(ctx context.Context, lease applock.Lease) error {
			if got, ok := ctx.Deadline(); !ok || !got.Equal(lease.Deadline()) {
				t.Errorf("the deadline is %v, %t, want the lease's", got, ok)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Goal: a caller that re-enters is the same holder. Method: name the holder, nobody, and another operator.
func TestReentryNamesNobodyElse(t *testing.T) {
	t.Parallel()
	playSleeper(t, func(t *testing.T, here program, _ *sleeper) {
		jdoe := applock.Owner{Operator: "JDOE", Department: "CS"}
		lease := here.acquire(t, applock.AcquireRequest{Object: nightly, Owner: jdoe, MaxHold: time.Hour})
		for owner, refused := range map[applock.Owner]bool{
			{}: false, jdoe: false, {Operator: "JDOE"}: false, {Department: "CS"}: false,
			{Operator: "ASMITH"}: true, {Operator: "JDOE", Department: "IT"}: true, {Department: "IT"}: true,
		} {
			inner, err := here.Acquire(lease.Context(), applock.AcquireRequest{Object: nightly, Owner: owner, MaxHold: time.Hour})
			var invalid *applock.InvalidError
			if isRefused := errors.As(err, &invalid) && invalid.Argument == "Owner"; isRefused != refused || !refused && inner.Owner() != jdoe {
				t.Errorf("re-entered as %s: %v, %v, want a refusal: %t", owner, inner, err, refused)
			}
		}
	})
}
