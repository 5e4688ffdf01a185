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

// freeAfter returns a backend whose object is held for some time after the first call. It counts its takes, and calls polling before each
// answer to a poll.
func freeAfter(wait time.Duration, takes *atomic.Int64, polling func(ctx context.Context, number int64)) *playedBackend {
	var began time.Time
	var polls atomic.Int64
	isFree := func() bool { return time.Since(began) >= wait }
	return &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			if takes.Add(1) == 1 {
				began = time.Now()
			}
			if !isFree() {
				return applock.Grant{}, held
			}
			return applock.Grant{}, nil
		},
		polling: func(ctx context.Context) error {
			polling(ctx, polls.Add(1))
			return ctx.Err()
		},
		poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
			if isFree() {
				return waited, 0, nil
			}
			return nil, 0, nil
		},
	}
}

// Goal: a poll that takes long, or gets no answer at all, keeps nobody waiting for much longer, and does not make the next ones rare. Method:
// one poll does, and the object is free soon after.
func TestSlowPoll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number     int64
		takes      time.Duration
		free, late time.Duration
	}{
		"Slow":      {number: 3, takes: 10 * time.Second, free: 12 * time.Second, late: 6 * time.Second},
		"NoAnswer":  {number: 3, takes: time.Hour, free: 12 * time.Second, late: 6 * time.Second},
		"Throttled": {number: 3, takes: time.Second, free: 12 * time.Second, late: 6 * time.Second},
		"Hiccup":    {number: 10, takes: 200 * time.Millisecond, free: 400 * time.Millisecond, late: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := freeAfter(c.free, new(atomic.Int64), func(ctx context.Context, number int64) {
				if number != c.number {
					return
				}
				select {
				case <-time.After(c.takes):
				case <-ctx.Done():
				}
			})
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began := time.Now()
				mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				if late := time.Since(began) - c.free; late > c.late {
					t.Errorf("woken %s after the object was free, want %s at the most", late, c.late)
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
			var polls, takes atomic.Int64
			backend := freeAfter(test.wait, &takes, func(context.Context, int64) {
				polls.Add(1)
				time.Sleep(test.cost)
			})
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began := time.Now()
				mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				if most := 2 + int64(test.wait/(5*time.Minute)); takes.Load() > most {
					t.Errorf("%d takes in %s, want %d at the most", takes.Load(), test.wait, most)
				}
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
