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

// The tests of this file wait, or give up waiting, while the backend is slow or fails.

// unpolledFake returns a fake backend that is nothing more than a backend, so that no poll wakes anybody.
func unpolledFake(fault func(ctx context.Context, call fakebackend.Call) fakebackend.Fault) *fakebackend.Backend {
	backend := fakebackend.New()
	backend.Fault = fault
	return backend
}

// once returns what happens to the first call of an operation.
func once(operation string, fault fakebackend.Fault) func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
	return func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		if call.Operation == operation && call.Number == 1 {
			return fault
		}
		return fakebackend.Fault{}
	}
}

// Goal: a waiter behind a caller that has gone is served as soon as that caller's grant is released. Method: the answer to the first caller
// takes 2 s, and it leaves after one; the second has come meanwhile, and no poll wakes it.
func TestWaiterBehindACancelledCall(t *testing.T) {
	t.Parallel()
	play(t, unpolledFake(once(fakebackend.Get, fakebackend.Fault{After: 2 * time.Second})), func(t *testing.T, leases *lease.Leases) {
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _, _ = leases.Acquire(gone, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}) }()
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		if waited := time.Since(began); waited != 1500*time.Millisecond {
			t.Errorf("served after %s, want 1.5 s", waited)
		}
	})
}

// Goal: a caller of a lease that is shorter than its round trip gets that error, and does not retry for ever. Method: leases of 100 ms from
// a backend that takes a second.
func TestLeaseShorterThanItsWay(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(func(context.Context, fakebackend.Call) fakebackend.Fault {
		return fakebackend.Fault{After: time.Second}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		began := time.Now()
		_, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: 100 * time.Millisecond})
		if took := time.Since(began); !errors.Is(err, lease.ErrTooLate) || took > 40*time.Second {
			t.Errorf("after %s: %v, want that the answer took too long, after some 30 s", took, err)
		}
		if calls := backend.Calls(fakebackend.Get); calls > 30 {
			t.Errorf("%d calls, want 30 at most", calls)
		}
	})
}

// Goal: a waiter behind a holder of the same program is served when the holder has lost the object, even without renewals. Method: a
// supervisor releases a lease without a TTL, and polls say that its object is free.
func TestWaiterBehindALostLease(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	backend := &playedBackend{
		poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
			if lost.Load() {
				return waited, 0, nil
			}
			return nil, 0, nil
		},
		renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
			answers := renewed(renewals)
			if lost.Load() {
				answers[0].Lost = applock.ErrNotHeld
			}
			return answers, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		former := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		time.AfterFunc(10*time.Second, func() { lost.Store(true) })
		began := time.Now()
		mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		if waited := time.Since(began); waited > 11*time.Second {
			t.Errorf("served after %s, want 10 s", waited)
		}
		if cause := context.Cause(former.Context()); !errors.Is(cause, applock.ErrLost) {
			t.Errorf("the former lease ended with %v, want ErrLost", cause)
		}
	})
}

// Goal: a refusal names the holder, and no operator if the backend does not name one. Method: a backend that does not.
func TestRefusalDoesNotNameTheCaller(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
		return applock.Grant{}, &applock.HeldError{Object: nightly}
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		request := applock.AcquireRequest{Object: nightly, Owner: applock.Owner{Operator: "JDOE"}, MaxHold: time.Hour}
		for _, wait := range []time.Duration{0, time.Second} {
			request.MaxWait = wait
			_, err := leases.TryAcquire(t.Context(), request)
			var refusal *applock.HeldError
			if !errors.As(err, &refusal) || refusal.Holder.Owner.Operator != "" {
				t.Errorf("refused after %s with %v, want a *HeldError without a holder", wait, err)
			}
		}
	})
}

// Goal: a caller that gives up gets the holder of that moment. Method: the object changes hands a second after the first refusal, four
// minutes before the end of the wait, and nothing wakes the waiter.
func TestRefusalNamesTheHolderOfNow(t *testing.T) {
	t.Parallel()
	var began time.Time
	backend := &playedBackend{take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
		if time.Since(began) < time.Second {
			return applock.Grant{}, held
		}
		return applock.Grant{}, &applock.HeldError{Object: nightly, Holder: applock.Holder{Owner: applock.Owner{Operator: "ASMITH"}}}
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		began = time.Now()
		_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: 4 * time.Minute})
		var refusal *applock.HeldError
		if !errors.As(err, &refusal) || refusal.Holder.Owner.Operator != "ASMITH" {
			t.Errorf("try to acquire: %v, want that ASMITH holds it", err)
		}
	})
}

// Goal: a waiter that nothing wakes makes an attempt every five minutes. Method: a backend that nobody polls, and an object that stays held.
func TestWaitersLookAgain(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(nil)
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		backend.Hold(nightly, applock.Owner{Operator: "JDOE"}, 2*time.Hour)
		_, err := leases.TryAcquire(t.Context(), within(time.Hour-time.Second))
		if calls := backend.Calls(fakebackend.Get); calls < 12 || calls > 14 || !errors.Is(err, applock.ErrHeld) {
			t.Errorf("%d calls in an hour, want 12, the first and the last one: %v", calls, err)
		}
	})
}

// Goal: a limited wait ends when it is to, however slow the backend is, and tells whether anybody was seen. Method: a backend
// whose first answer takes 30 s, and one whose second does, to the question at the end of the wait.
func TestTryAcquireGivesUpInTime(t *testing.T) {
	t.Parallel()
	for slow, want := range map[int64]error{1: applock.ErrUnreachable, 2: applock.ErrHeld} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			t.Parallel()
			var takes atomic.Int64
			backend := &playedBackend{take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
				if takes.Add(1) == slow {
					time.Sleep(30 * time.Second)
				}
				return applock.Grant{}, held
			}}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began := time.Now()
				_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: 5 * time.Second})
				if waited := time.Since(began); waited > 6*time.Second || !errors.Is(err, want) {
					t.Errorf("gave up after %s with %v, want %v after 5 s, and one more for the last answer", waited, err, want)
				}
			})
		})
	}
}

// wait waits for the nightly job, without a limit if that is zero.
func (p program) wait(ctx context.Context, maxWait time.Duration) error {
	_, err := p.Acquire(ctx, within(maxWait))
	return err
}

// askOnce tries to take the nightly job.
func (p program) askOnce(ctx context.Context, _ time.Duration) error {
	_, err := p.TryAcquire(ctx, within(0))
	return err
}

// Goal: an outage is never "held": a caller whose context ends gets its cause, and one whose time is up that nobody could be
// asked. Method: a free object behind a server that does not answer, to one caller and to the one behind it.
func TestAnOutageIsNotHeld(t *testing.T) {
	t.Parallel()
	cause := errors.New("the shift is over")
	for name, test := range map[string]struct {
		call    func(p program, ctx context.Context, maxWait time.Duration) error
		maxWait time.Duration
		want    error
		after   time.Duration
	}{
		"once":    {call: program.askOnce, want: cause, after: 10 * time.Second},
		"forever": {call: program.wait, want: cause, after: 10 * time.Second},
		"limited": {call: program.wait, maxWait: 3 * time.Second, want: applock.ErrUnreachable, after: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, _ program) {
				here.with(fakebackend.Get, fakebackend.Fault{Before: time.Hour})
				var callers sync.WaitGroup
				for range 2 {
					callers.Go(func() {
						began := time.Now()
						ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, cause)
						defer cancel()
						err := test.call(here, ctx, test.maxWait)
						if took := time.Since(began); errors.Is(err, applock.ErrHeld) || !errors.Is(err, test.want) || took > test.after+time.Second {
							t.Errorf("after %s: %v, want %v after %s, and not ErrHeld", took, err, test.want, test.after)
						}
					})
				}
				callers.Wait()
			})
		})
	}
}

// Goal: a caller that tries once, or waits for ever, gets an error from a silent server, even if its context never ends. Method: wait for
// both.
func TestSilenceHasAnEnd(t *testing.T) {
	t.Parallel()
	for _, call := range []func(p program, ctx context.Context, maxWait time.Duration) error{program.askOnce, program.wait} {
		playFake(t, func(t *testing.T, here, _ program) {
			here.with(fakebackend.Get, fakebackend.Fault{Before: time.Hour})
			began := time.Now()
			err := call(here, t.Context(), 0)
			if took := time.Since(began); errors.Is(err, applock.ErrHeld) || !errors.Is(err, applock.ErrUnreachable) || took > 2*time.Minute {
				t.Errorf("after %s: %v, want ErrUnreachable", took, err)
			}
		})
	}
}

// until makes the fault of an operation, or of all, for some time from now on.
func (p program) until(lasts time.Duration, operation string, fault fakebackend.Fault) {
	began := time.Now()
	p.backend.ChangeFault(func(calm fakebackend.Faults) fakebackend.Faults {
		return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
			if (operation == "" || call.Operation == operation) && time.Since(began) < lasts {
				return fault
			}
			return calm(ctx, call)
		}
	})
}

// Goal: new and old waiters wait through an outage of an unreachable server; a long outage is reported. Method: refused connections for 20
// s, and for ever.
func TestOutagesAreWaitedOut(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("%w: connection refused", applock.ErrUnreachable)
	for _, lasts := range []time.Duration{20 * time.Second, time.Hour} {
		playFake(t, func(t *testing.T, here, _ program) {
			began := time.Now()
			here.until(lasts, "", fakebackend.Fault{Refuse: refused})
			err := here.wait(t.Context(), 10*time.Minute)
			took := time.Since(began)
			if lasts < time.Hour && (err != nil || took > lasts+3*time.Second) {
				t.Errorf("after %s: %v, want success soon after %s", took, err, lasts)
			}
			if lasts == time.Hour && (!errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrHeld) || took > time.Minute) {
				t.Errorf("after %s: %v, want ErrUnreachable", took, err)
			}
			_, err = here.TryAcquire(t.Context(), anHour(account(1)))
			if lasts == time.Hour && !errors.Is(err, applock.ErrUnreachable) || time.Since(began) > took+time.Second {
				t.Errorf("asked once: %v after another %s, want ErrUnreachable at once", err, time.Since(began)-took)
			}
		})
	}
}

// Goal: a transaction that is changing the lock is waited for until the limit, and then reported as that: nobody was seen to hold
// the object. Method: a row that is busy for a while, and for ever; each attempt takes the second of a lock timeout.
func TestBusyIsNotYet(t *testing.T) {
	t.Parallel()
	for _, busy := range []error{applock.ErrBusy, applock.ErrRetry, applock.ErrContention} {
		for _, lasts := range []time.Duration{4 * time.Second, time.Hour} {
			playFake(t, func(t *testing.T, here, _ program) {
				began := time.Now()
				here.until(lasts, fakebackend.Get, fakebackend.Fault{Refuse: busy, Before: time.Second})
				err := here.wait(t.Context(), 10*time.Second)
				took := time.Since(began)
				if lasts < time.Hour && (err != nil || took > lasts+2*time.Second) {
					t.Errorf("%v: %v after %s, want success soon after %s", busy, err, took, lasts)
				}
				if lasts == time.Hour && (!errors.Is(err, busy) || errors.Is(err, applock.ErrHeld) || took < 10*time.Second || took > 11*time.Second) {
					t.Errorf("%v: %v after %s, want it after 10 s", busy, err, took)
				}
			})
		}
	}
}

// Goal: a waiter does not besiege a backend whose answers are lost, however soon its possible grant is released. Method: every answer to a
// get is lost for 10 s; the calls are counted.
func TestLostAnswersAreNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		began := time.Now()
		here.until(10*time.Second, fakebackend.Get, fakebackend.Fault{Lose: true})
		err := here.wait(t.Context(), time.Minute)
		if took, calls := time.Since(began), here.backend.Calls(fakebackend.Get); err != nil || took > 13*time.Second || calls > 20 {
			t.Errorf("after %s and %d calls: %v, want success soon after 10 s, and few calls", took, calls, err)
		}
	})
}

// Goal: a refusal does not name a holder that had released before its caller came. Method: a holder releases, the next waiter finds the row busy,
// and a caller that tries once comes after that.
func TestFormerHolderIsNotTold(t *testing.T) {
	t.Parallel()
	var takes atomic.Int64
	backend := &playedBackend{take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
		if takes.Add(1) == 1 {
			return applock.Grant{}, nil
		}
		return applock.Grant{}, applock.ErrBusy
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		former := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _ = leases.Acquire(ctx, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}) })
		time.Sleep(time.Second)
		if err := former.Release(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		if !errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrHeld) {
			t.Errorf("try to acquire: %v, want ErrBusy", err)
		}
		cancel()
		waiting.Wait()
	})
}

// Goal: the error names the holder that was seen, even if the row is busy at the end. Method: a holder in another program, whose row is
// busy from the second attempt on.
func TestSeenIsTold(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		holder := there.acquire(t, anHour(nightly))
		began := time.Now()
		time.AfterFunc(time.Second, func() { here.with(fakebackend.Get, fakebackend.Fault{Refuse: applock.ErrBusy}) })
		_, err := here.TryAcquire(t.Context(), within(10*time.Second))
		requireRefused(t, began, 10*time.Second, err, holder)
	})
}

// Goal: a caller that tries once while others of this program do gets their answer. Method: a caller that takes the object, one that is
// refused, and one that finds the row busy; another one a moment later.
func TestAskingOnceBehindOthers(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		go func() { _, _ = here.TryAcquire(t.Context(), within(0)) }()
		time.Sleep(5 * time.Millisecond)
		if _, err := here.TryAcquire(t.Context(), within(0)); !errors.Is(err, applock.ErrHeld) {
			t.Errorf("behind one who takes it: %v, want ErrHeld", err)
		}
		held := there.acquire(t, anHour(account(1)))
		go func() { _, _ = here.Acquire(t.Context(), anHour(account(1))) }()
		time.Sleep(5 * time.Millisecond)
		began := time.Now()
		_, err := here.TryAcquire(t.Context(), anHour(account(1)))
		requireRefused(t, began, 15*time.Millisecond, err, held)
		here.with(fakebackend.Get, fakebackend.Fault{Refuse: applock.ErrBusy, Before: time.Second})
		go func() { _, _ = here.TryAcquire(t.Context(), anHour(account(2))) }()
		time.Sleep(5 * time.Millisecond)
		if _, err := here.TryAcquire(t.Context(), anHour(account(2))); !errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrHeld) {
			t.Errorf("behind one who finds it busy: %v, want ErrBusy", err)
		}
	})
}

// Goal: a lease is not given out after its end: the grant is given back, and the object asked for again; who asks once is
// told. Method: an answer that takes longer than the lease may be trusted, but not as long as the lock lasts.
func TestNoLeaseFromALateAnswer(t *testing.T) {
	t.Parallel()
	const late = 3700 * time.Millisecond
	request := applock.AcquireRequest{Object: nightly, MaxHold: 4 * time.Second}
	play(t, unpolledFake(once(fakebackend.Get, fakebackend.Fault{After: late})), func(t *testing.T, leases *lease.Leases) {
		began := time.Now()
		lease := mustAcquire(t, leases, request)
		if trust := lease.Deadline().Sub(began); trust <= late+3*time.Second {
			t.Errorf("trusted for %s, want the time of a new grant", trust)
		}
	})
	backend := unpolledFake(once(fakebackend.Get, fakebackend.Fault{After: late}))
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		if lease, err := leases.TryAcquire(t.Context(), request); err == nil {
			t.Errorf("asked once: %v, want an error", lease)
		}
		synctest.Wait()
		if left := -backend.FreeFor(nightly); left > 0 {
			t.Errorf("the object stays locked for %s", left)
		}
	})
}

// Goal: a call that is given up while an attempt is under way says that this may leave a lock. Method: a given operator, whose take
// is granted late, and the answer lost: later than the call waits, or than any call does. Without one nothing is left, and nothing told.
func TestAbandonedAttemptIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		way, maxWait time.Duration
		operator     string
	}{
		"max_wait":              {800 * time.Millisecond, 100 * time.Millisecond, "etl-7"},
		"silence":               {20 * time.Second, 0, "etl-7"},
		"silence for a wait":    {20 * time.Second, 35 * time.Second, "etl-7"},
		"max_wait, no operator": {800 * time.Millisecond, 100 * time.Millisecond, ""},
		"silence, no operator":  {20 * time.Second, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, _ program) {
				here.backend.ChangeFault(func(fakebackend.Faults) fakebackend.Faults {
					return func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
						if call.Operation != fakebackend.Get {
							return fakebackend.Fault{}
						}
						return fakebackend.Fault{Before: test.way, After: test.way, Lose: true}
					}
				})
				request := anHour(account(1))
				request.Owner.Operator, request.MaxWait = test.operator, test.maxWait
				acquire := here.Acquire
				if test.maxWait == 0 {
					acquire = here.TryAcquire
				}
				_, err := acquire(t.Context(), request)
				isGiven := test.operator != ""
				if !errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown) != isGiven {
					t.Errorf("the call fails with %v, want ErrUnreachable, and ErrOutcomeUnknown too: %t", err, isGiven)
				}
				time.Sleep(2 * time.Minute)
				if _, isHeld := here.backend.Holder(account(1)); isHeld != isGiven {
					t.Errorf("a lock was left: %t, want %t", isHeld, isGiven)
				}
			})
		})
	}
}

// Goal: a call that may leave a lock says so, whatever its last attempt failed with; and one that has been answered since does not. Method: a given
// operator, whose first take is granted, and the answer lost; the next one fails in a way that nobody waits for, or is refused first.
func TestUnknownOutcomeIsToldInTheEnd(t *testing.T) {
	t.Parallel()
	for name, isRefused := range map[string]bool{"failed": false, "refused and failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, _ program) {
				here.backend.ChangeFault(func(calm fakebackend.Faults) fakebackend.Faults {
					return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
						switch {
						case call.Operation != fakebackend.Get:
							return calm(ctx, call)
						case call.Number == 1:
							return fakebackend.Fault{Lose: true}
						case call.Number == 2 && isRefused:
							here.backend.Hold(account(1), applock.Owner{Operator: "asmith"}, time.Minute)
							return fakebackend.Fault{}
						}
						return fakebackend.Fault{Refuse: errOutage}
					}
				})
				request := anHour(account(1))
				request.Owner.Operator, request.MaxWait = "etl-7", time.Hour
				_, err := here.Acquire(t.Context(), request)
				if !errors.Is(err, errOutage) || errors.Is(err, applock.ErrOutcomeUnknown) == isRefused {
					t.Errorf("the call fails with %v, want %v, and ErrOutcomeUnknown too: %t", err, errOutage, !isRefused)
				}
			})
		})
	}
}
