package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Goal: a poll that takes long, or gets no answer at all, keeps nobody waiting for much longer. Method: the third poll does,
// and the object is free soon after.
func TestSlowPoll(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(ctx context.Context){
		"Slow":      func(context.Context) { time.Sleep(10 * time.Second) },
		"NoAnswer":  func(ctx context.Context) { <-ctx.Done() },
		"Throttled": func(context.Context) { time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var began time.Time
			var polls atomic.Int64
			isFree := func() bool { return time.Since(began) > 12*time.Second }
			backend := &playedBackend{
				take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
					if !isFree() {
						return applock.Grant{}, held
					}
					return applock.Grant{}, nil
				},
				polling: func(ctx context.Context) error {
					if polls.Add(1) == 3 {
						slow(ctx)
					}
					return ctx.Err()
				},
				poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
					if isFree() {
						return waited, 0, nil
					}
					return nil, 0, nil
				},
			}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began = time.Now()
				mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				if late := time.Since(began) - 12*time.Second; late > 6*time.Second {
					t.Errorf("woken %s after the object was free, want 6 s at the most", late)
				}
			})
		})
	}
}

// Goal: a failed poll costs no attempts, however many objects are waited for. Method: a hundred waiters for objects that others hold; a poll
// fails now and then.
func TestFailedPollMakesNoAttempts(t *testing.T) {
	t.Parallel()
	const waiters = 100
	var polls, takes atomic.Int64
	backend := &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			takes.Add(1)
			return applock.Grant{}, held
		},
		poll: func([]applock.Object) ([]applock.Object, time.Duration, error) {
			if polls.Add(1)%10 == 0 {
				return nil, 0, applock.ErrUnreachable
			}
			return nil, 0, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for id := range waiters {
			waiting.Go(func() {
				_, _ = leases.Acquire(ctx, applock.AcquireRequest{Object: account(id), MaxHold: time.Hour})
			})
		}
		time.Sleep(time.Minute)
		if n := takes.Load(); n != waiters {
			t.Errorf("%d attempts, want one of each waiter, %d", n, waiters)
		}
		cancel()
		waiting.Wait()
	})
}

// Goal: polls become rare although an object is free for which nobody waits any more, such as one whose waiter could not be
// taken off the list. Method: a backend that goes on to name one.
func TestPollsNameForgottenObjects(t *testing.T) {
	t.Parallel()
	var polls atomic.Int64
	backend := &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			return applock.Grant{}, held
		},
		poll: func([]applock.Object) ([]applock.Object, time.Duration, error) {
			polls.Add(1)
			return []applock.Object{{Type: "job", ID: "forgotten"}}, 0, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: 100 * time.Second})
		if !errors.Is(err, applock.ErrHeld) {
			t.Errorf("try to acquire: %v, want ErrHeld", err)
		}
		if n := polls.Load(); n > 5000 {
			t.Errorf("%d polls in 100 s, want 5000 at the most", n)
		}
	})
}

// Goal: one poll that takes long does not make the next ones rare. Method: the tenth takes 200 ms, and the object is free a
// moment later.
func TestAHiccupOfAPoll(t *testing.T) {
	t.Parallel()
	var polls atomic.Int64
	var free atomic.Pointer[time.Time]
	backend := &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			if free.Load() == nil {
				return applock.Grant{}, held
			}
			return applock.Grant{}, nil
		},
		poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
			if free.Load() != nil {
				return waited, 0, nil
			}
			if polls.Add(1) == 10 {
				time.Sleep(200 * time.Millisecond)
				time.AfterFunc(time.Millisecond, func() { now := time.Now(); free.Store(&now) })
			}
			return nil, 0, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		if late := time.Since(*free.Load()); late > 50*time.Millisecond {
			t.Errorf("woken %s late", late)
		}
	})
}

// Goal: a waiter is woken when its object is free, within a thousandth of its wait and a quarter of a second, and polls
// become rare meanwhile, and are rarer at first where they cost more; nobody asks for the object before. Method: an object that
// becomes free after a while; count the polls, and the takes, of which there is one when the caller comes, one every five minutes
// and one in the end.
func TestPollsAdapt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		wait            time.Duration
		cost            time.Duration // of a poll
		late            time.Duration
		fewest, mostest int64
	}{
		{wait: 100 * time.Millisecond, late: 7 * time.Millisecond, fewest: 16, mostest: 26},
		{wait: 100 * time.Millisecond, cost: 300 * time.Microsecond, late: 10 * time.Millisecond, fewest: 10, mostest: 18},
		{wait: 100 * time.Millisecond, cost: time.Millisecond, late: 15 * time.Millisecond, fewest: 7, mostest: 14},
		{wait: 100 * time.Second, late: 130 * time.Millisecond, fewest: 1000, mostest: 5000},
		{wait: time.Hour, late: 310 * time.Millisecond, fewest: 4 * 3000, mostest: 4 * 6000},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s_%s", test.wait, test.cost), func(t *testing.T) {
			t.Parallel()
			var began time.Time
			var polls, takes atomic.Int64
			mostTakes := 2 + int64(test.wait/(5*time.Minute))
			isFree := func() bool { return time.Since(began) >= test.wait }
			backend := &playedBackend{
				take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
					if n := takes.Add(1); n > mostTakes {
						return applock.Grant{}, fmt.Errorf("take number %d after %s, want %d at the most", n, time.Since(began), mostTakes)
					}
					if !isFree() {
						return applock.Grant{}, held
					}
					return applock.Grant{}, nil
				},
				poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
					polls.Add(1)
					time.Sleep(test.cost)
					if isFree() {
						return waited, 0, nil
					}
					return nil, 0, nil
				},
			}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began = time.Now()
				mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				if late := time.Since(began) - test.wait; late > test.late {
					t.Errorf("woken after %s, want %s at the most", late, test.late)
				}
				if n := polls.Load(); n < test.fewest || n > test.mostest {
					t.Errorf("%d polls in %s, want %d to %d", n, test.wait, test.fewest, test.mostest)
				}
			})
		})
	}
}

// Goal: the poller asks when the next lock ends, and spends little of the time on asking. Method: a poll that takes
// 100 ms and says that the object is free in 10 s.
func TestPollCostsLittle(t *testing.T) {
	t.Parallel()
	var polls atomic.Int64
	backend := &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			return applock.Grant{}, held
		},
		poll: func([]applock.Object) ([]applock.Object, time.Duration, error) {
			polls.Add(1)
			time.Sleep(100 * time.Millisecond)
			return nil, time.Millisecond, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: 26 * time.Second})
		if !errors.Is(err, applock.ErrHeld) {
			t.Errorf("try to acquire: %v, want ErrHeld", err)
		}
		if n := polls.Load(); n < 21 || n > 27 {
			t.Errorf("%d polls of 100 ms in 26 s, want one in 1.1 s", n)
		}
	})
}

// Goal: a waiter gets the error of a database that is gone, half a minute after polls began to fail, and none for a short outage. Polls are
// repeated once a second. Method: polls that fail for 10 s, and for ever.
func TestFailingPolls(t *testing.T) {
	t.Parallel()
	for _, failsFor := range []time.Duration{10 * time.Second, time.Hour} {
		t.Run(failsFor.String(), func(t *testing.T) {
			t.Parallel()
			var began time.Time
			var failed atomic.Int64
			fails := func() bool { return time.Since(began) > time.Second && time.Since(began) < time.Second+failsFor }
			backend := &playedBackend{
				take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
					switch {
					case fails():
						return applock.Grant{}, errServer
					case time.Since(began) < 5*time.Second:
						return applock.Grant{}, held
					}
					return applock.Grant{}, nil
				},
				poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
					if !fails() {
						return waited[:min(len(waited), int(time.Since(began)/(5*time.Second)))], 0, nil
					}
					failed.Add(1)
					return nil, 0, errServer
				},
			}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began = time.Now()
				_, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				took, isLong := time.Since(began), failsFor == time.Hour
				if isLong != errors.Is(err, errServer) || !isLong && err != nil || took > 35*time.Second || failed.Load() > 35 {
					t.Errorf("after %s and %d polls that failed: %v, want the server's error if it is gone for long", took, failed.Load(), err)
				}
			})
		})
	}
}
