package lease_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// The tests of this file play the backend themselves, in a time of their own, so that failures come when they are to.

// playedBackend answers as its functions say.
type playedBackend struct {
	take    func(ctx context.Context, owner applock.Owner, ttl time.Duration) (applock.Grant, error)
	release func(grant applock.Grant) error
	renew   func(renewals []lease.Renewal) ([]lease.Renewed, error)
	poll    func(waited []applock.Object) ([]applock.Object, time.Duration, error)
	polling func(ctx context.Context) error // before poll
}

func (b *playedBackend) Get(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	if b.take == nil {
		return applock.Grant{Object: object, Owner: owner, Fence: 1}, nil
	}
	grant, err := b.take(ctx, owner, ttl)
	grant.Object, grant.Owner = object, owner
	return grant, err
}

func (b *playedBackend) Release(_ context.Context, grant applock.Grant) error {
	if b.release == nil {
		return nil
	}
	return b.release(grant)
}

func (b *playedBackend) Renew(_ context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	if b.renew == nil {
		return renewed(renewals), nil
	}
	return b.renew(renewals)
}

func (b *playedBackend) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (lease.PollAnswer, error) {
	if b.polling != nil {
		if err := b.polling(ctx); err != nil {
			return lease.PollAnswer{}, err
		}
	}
	if b.poll == nil {
		return lease.PollAnswer{}, nil
	}
	free, next, err := b.poll(slices.Collect(waited))
	return lease.PollAnswer{Free: free, Next: next}, err
}

func renewed(renewals []lease.Renewal) []lease.Renewed {
	answers := make([]lease.Renewed, len(renewals))
	for i, renewal := range renewals {
		answers[i].Object = renewal.Grant.Object
	}
	return answers
}

// play runs a test in a time of its own, on leases that end with it.
func play(t *testing.T, backend lease.Backend, test func(t *testing.T, leases *lease.Leases)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leases := lease.New(backend, lease.Config{})
		defer func() { _ = leases.Close() }()
		test(t, leases)
	})
}

var (
	nightly   = applock.Object{Type: "job", ID: "nightly"}
	errServer = errors.New("the server does not answer")
	held      = &applock.HeldError{Object: nightly, Holder: applock.Holder{Owner: applock.Owner{Operator: "etl-7"}}}
)

func mustAcquire(t *testing.T, leases *lease.Leases, request applock.AcquireRequest) applock.Lease {
	t.Helper()
	lease, err := leases.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Goal: the lease is not trusted longer than the backend keeps it. Method: a call whose answer takes 3 s: the deadline
// counts from before it, less a margin, and the context ends then.
func TestDeadlineCountsFromBeforeTheRequest(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
		time.Sleep(3 * time.Second)
		return applock.Grant{}, nil
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		asked := time.Now()
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: 10 * time.Second})
		if trust := lease.Deadline().Sub(asked); trust != 9*time.Second {
			t.Errorf("trusted for %s from before the request, want 9 s", trust)
		}
		<-lease.Context().Done()
		if lasted := time.Since(asked); lasted != 9*time.Second || !errors.Is(context.Cause(lease.Context()), applock.ErrLost) {
			t.Errorf("ended after %s with %v, want 9 s and ErrLost", lasted, context.Cause(lease.Context()))
		}
	})
}

// Goal: a failed renewal is not a loss; one that comes too late is. Method: a server that fails for a while, and one that
// fails for ever: the lease ends before the lock does, which is TTL after the last renewal was asked for.
func TestRenewalSurvivesFailures(t *testing.T) {
	t.Parallel()
	request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second}
	for name, failsFor := range map[string]time.Duration{"ForAWhile": 5 * time.Second, "ForEver": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var began time.Time
			var lastRenewal atomic.Pointer[time.Time]
			backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
				since := time.Since(began)
				if since > 20*time.Second && since < 20*time.Second+failsFor {
					return nil, errServer
				}
				now := time.Now()
				lastRenewal.Store(&now)
				return renewed(renewals), nil
			}}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began = time.Now()
				lease := mustAcquire(t, leases, request)
				time.Sleep(time.Minute)
				cause := context.Cause(lease.Context())
				if failsFor < request.TTL {
					if cause != nil {
						t.Errorf("lost: %v", cause)
					}
					return
				}
				if !errors.Is(cause, applock.ErrLost) {
					t.Errorf("ended with %v, want ErrLost", cause)
				}
				if trust := lease.Deadline().Sub(*lastRenewal.Load()); trust >= request.TTL || trust < request.TTL/2 {
					t.Errorf("trusted for %s after the last renewal, want less than %s", trust, request.TTL)
				}
			})
		})
	}
}

// Goal: a lease lasts only as long as was granted, by a policy that cuts its TTL, and is renewed in that time. Method: a backend
// that grants less than it is asked for, from the first renewal on; without a TTL there is none, and the lease ends.
func TestPolicyCutsTheLease(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
		answers := renewed(renewals)
		answers[0].Left = 3 * time.Second
		return answers, nil
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second})
		for range 20 {
			time.Sleep(2 * time.Second) // the clock is the test's
			if err := context.Cause(lease.Context()); err != nil {
				t.Fatalf("lost: %v", err)
			}
		}
		if left := time.Until(lease.Deadline()); left > 3*time.Second {
			t.Errorf("trusted for %s, of which 3s were granted", left)
		}
	})
}

// Goal: a first grant that is shorter than requested counts as well: the lease is renewed in that time, and without a TTL the error of its
// end names the policy. Method: a backend that grants 3 s for any request.
func TestPolicyCutsTheFirstGrant(t *testing.T) {
	t.Parallel()
	backend := &playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			return applock.Grant{Fence: 1, Left: 3 * time.Second}, nil
		},
		renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
			answers := renewed(renewals)
			answers[0].Left = 3 * time.Second
			return answers, nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: time.Minute})
		if left := time.Until(lease.Deadline()); left > 3*time.Second {
			t.Errorf("trusted for %s, of which 3s were granted", left)
		}
		for range 20 {
			time.Sleep(2 * time.Second) // the clock is the test's
			if err := context.Cause(lease.Context()); err != nil {
				t.Fatalf("lost: %v", err)
			}
		}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		time.Sleep(3 * time.Second)
		if err := context.Cause(lease.Context()); !errors.Is(err, applock.ErrLost) || !strings.Contains(err.Error(), "policy") {
			t.Errorf("after what was granted: %v, want that the policy has ended it", err)
		}
	})
}

// Goal: a grant of another operator is lost at once; one that could not be checked is not. Method: both answers to the first renewal.
func TestRenewalAnswers(t *testing.T) {
	t.Parallel()
	request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second}
	answers := []lease.Renewed{{Object: nightly, Lost: held}}
	var calls atomic.Int64
	backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
		if calls.Add(1) == 1 {
			return nil, nil // another transaction is changing the row
		}
		return answers, nil
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, request)
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		if cause := context.Cause(lease.Context()); calls.Load() != 1 || cause != nil {
			t.Fatalf("after %d renewals: %v, want it to be live after one", calls.Load(), cause)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		var lost *applock.LostError
		if cause := context.Cause(lease.Context()); !errors.As(cause, &lost) || lost.Holder != held.Holder || lost.Object != nightly {
			t.Errorf("ended with %v, want a *LostError with the new holder", cause)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
	})
}

// Goal: many leases are renewed by few calls, each about once per interval, for no longer than it may last. Method: 1,000
// leases that began at different times; count the calls.
func TestFewRenewalsForAll(t *testing.T) {
	t.Parallel()
	const leasesHeld, intervals = 1000, 10
	var calls, renewedGrants atomic.Int64
	backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
		calls.Add(1)
		renewedGrants.Add(int64(len(renewals)))
		for _, renewal := range renewals {
			if renewal.TTL > 9*time.Second || renewal.TTL <= 0 {
				t.Errorf("renewed for %s", renewal.TTL)
			}
		}
		return renewed(renewals), nil
	}}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		for i := range leasesHeld {
			object := applock.Object{Type: "job", ID: fmt.Sprint(i)}
			mustAcquire(t, leases, applock.AcquireRequest{Object: object, MaxHold: time.Hour, TTL: 9 * time.Second})
			time.Sleep(5 * time.Millisecond)
		}
		calls.Store(0)
		renewedGrants.Store(0)
		time.Sleep(intervals * 3 * time.Second)
		synctest.Wait()
		if most := int64(8 * (intervals + 1)); calls.Load() > most {
			t.Errorf("%d calls in %d intervals, want at most %d", calls.Load(), intervals, most)
		}
		if n := renewedGrants.Load(); n < (intervals-1)*leasesHeld || n > (intervals+2)*leasesHeld {
			t.Errorf("%d grants were renewed in %d intervals of %d leases", n, intervals, leasesHeld)
		}
	})
}

// Goal: a lease without a TTL costs nothing while it is held, unless the backend asks for checks.
func TestNoRenewalWithoutTTL(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
				calls.Add(1)
				return renewed(renewals), nil
			}}
			leases := lease.New(backend, lease.Config{CheckInterval: interval})
			defer func() { _ = leases.Close() }()
			mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			if want := int64(interval/time.Second) * 10; calls.Load() != want {
				t.Errorf("%d checks every %s in 10 s, want %d", calls.Load(), interval, want)
			}
		})
	}
}

// Goal: a grant of a cancelled call is released, unless it may be another caller's with the same given operator. Method: cancel while the
// backend works; it then grants, refuses, or does not know.
func TestCancelledCallIsGivenBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		operator string
		grant    applock.Grant
		err      error
		releases int
	}{
		"Granted":       {grant: applock.Grant{Fence: 7}, releases: 1},
		"Refused":       {err: held},
		"Unknown":       {err: fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, errServer), releases: 1},
		"GivenOperator": {operator: "etl-7", grant: applock.Grant{Fence: 7}, releases: 1},
		"GivenUnknown":  {operator: "etl-7", err: fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, errServer)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var released atomic.Pointer[[]applock.Grant]
			released.Store(new([]applock.Grant))
			backend := &playedBackend{
				take: func(ctx context.Context, _ applock.Owner, _ time.Duration) (applock.Grant, error) {
					time.Sleep(2 * time.Second)
					if ctx.Err() != nil {
						t.Error("the call was broken off, which leaves its outcome unknown")
					}
					return test.grant, test.err
				},
				release: func(grant applock.Grant) error {
					all := append(slices.Clone(*released.Load()), grant)
					released.Store(&all)
					return nil
				},
			}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				request := applock.AcquireRequest{Object: nightly, Owner: applock.Owner{Operator: test.operator}, MaxHold: time.Hour}
				if _, err := leases.Acquire(ctx, request); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquire: %v, want that ctx has ended", err)
				}
				if waited := time.Since(began); waited != time.Second {
					t.Errorf("answered after %s, want 1 s", waited)
				}
				time.Sleep(1500 * time.Millisecond) // before what had no answer is released again
				synctest.Wait()
				got := *released.Load()
				if len(got) != test.releases {
					t.Fatalf("released %v, want %d", got, test.releases)
				}
				if test.releases > 0 && got[0].Fence != test.grant.Fence {
					t.Errorf("released fence %d, want %d", got[0].Fence, test.grant.Fence)
				}
			})
		})
	}
}

// Goal: a release goes on when the caller has gone, repeats what fails, and gives up after 5 s. Method: a server that fails
// twice, and one that fails for ever.
func TestReleaseRepeats(t *testing.T) {
	t.Parallel()
	for _, failures := range []int64{2, 1 << 30} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			backend := &playedBackend{release: func(applock.Grant) error {
				if calls.Add(1) <= failures {
					return errServer
				}
				return nil
			}}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				gone, cancel := context.WithCancel(t.Context())
				cancel()
				began := time.Now()
				err := lease.Release(gone)
				if failures == 2 && (err != nil || calls.Load() != 3) {
					t.Errorf("release after %d calls: %v, want success after 3", calls.Load(), err)
				}
				if failures > 2 && (!errors.Is(err, errServer) || time.Since(began) != 5*time.Second) {
					t.Errorf("release after %s: %v, want the server's error after 5 s", time.Since(began), err)
				}
				if again := lease.Release(t.Context()); !errors.Is(again, err) {
					t.Errorf("release again: %v, want the same as before: %v", again, err)
				}
			})
		})
	}
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

// Goal: a waiter gets the error of a database that is gone, in the end, and none for a short outage. Method: polls that fail for 10 s, and
// for ever.
func TestFailingPolls(t *testing.T) {
	t.Parallel()
	for name, failsFor := range map[string]time.Duration{"ForAWhile": 10 * time.Second, "ForEver": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var began time.Time
			fails := func() bool { return time.Since(began) > time.Second && time.Since(began) < time.Second+failsFor }
			backend := &playedBackend{
				take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
					if fails() {
						return applock.Grant{}, errServer
					}
					if time.Since(began) < 5*time.Second {
						return applock.Grant{}, held
					}
					return applock.Grant{}, nil
				},
				poll: func(waited []applock.Object) ([]applock.Object, time.Duration, error) {
					if fails() {
						return nil, 0, errServer
					}
					if time.Since(began) < 5*time.Second {
						return nil, 0, nil
					}
					return waited, 0, nil
				},
			}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				began = time.Now()
				_, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				if failsFor < time.Hour && err != nil {
					t.Errorf("acquire through a hiccup: %v", err)
				}
				if failsFor == time.Hour && !errors.Is(err, errServer) {
					t.Errorf("acquire from a server that is gone: %v, want its error", err)
				}
			})
		})
	}
}

// Goal: nobody else's acquisition, in this process or another, has the same owner. Method: many, at once.
func TestOwnersAreUnique(t *testing.T) {
	t.Parallel()
	play(t, &playedBackend{}, func(t *testing.T, leases *lease.Leases) {
		var mutex sync.Mutex
		seen := map[string]bool{}
		var group sync.WaitGroup
		for i := range 1000 {
			group.Go(func() {
				object := applock.Object{Type: "job", ID: fmt.Sprint(i)}
				lease, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: time.Hour})
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				defer mutex.Unlock()
				seen[lease.Owner().Operator] = true
			})
		}
		group.Wait()
		if len(seen) != 1000 {
			t.Errorf("%d owners of 1000 leases", len(seen))
		}
	})
}

// Goal: a backend that cannot transfer says so, and the lease goes on.
func TestTransferUnsupported(t *testing.T) {
	t.Parallel()
	play(t, &playedBackend{}, func(t *testing.T, leases *lease.Leases) {
		lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		_, err := lease.Transfer(t.Context(), applock.Owner{Operator: "ASMITH"}, 0)
		if !errors.Is(err, errors.ErrUnsupported) || lease.Context().Err() != nil {
			t.Errorf("transfer: %v, want errors.ErrUnsupported and a live lease", err)
		}
	})
}

// unpolled hides the poller of a backend.
type unpolled struct{ lease.Backend }

// Goal: giving back wakes who was refused because of it. Method: a grant that comes after its caller has gone, and a
// second caller while it is being released; nothing else wakes it.
func TestGivingBackWakes(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var taken atomic.Bool
	backend := unpolled{&playedBackend{
		take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
			if calls.Add(1) == 1 {
				time.Sleep(2 * time.Second)
			}
			if !taken.CompareAndSwap(false, true) {
				return applock.Grant{}, held
			}
			return applock.Grant{}, nil
		},
		release: func(applock.Grant) error {
			time.Sleep(time.Second)
			taken.Store(false)
			return nil
		},
	}}
	synctest.Test(t, func(t *testing.T) {
		leases := lease.New(backend, lease.Config{})
		defer func() { _ = leases.Close() }()
		began := time.Now()
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := leases.Acquire(gone, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquire: %v, want that ctx has ended", err)
		}
		time.Sleep(1500 * time.Millisecond)
		mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("served after %s, want 3 s", waited)
		}
	})
}

// Goal: a duration whose unit was forgotten is refused at once, with the reason, and nothing is called. Method: 30 of
// nanoseconds for each duration of each call.
func TestForgottenUnits(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		requests := map[string]applock.AcquireRequest{
			"MaxHold": {Object: nightly, MaxHold: 30},
			"MaxWait": {Object: nightly, MaxHold: time.Hour, MaxWait: 30},
			"TTL":     {Object: nightly, MaxHold: time.Hour, TTL: 30},
		}
		for argument, request := range requests {
			_, acquireErr := here.Acquire(t.Context(), request)
			_, tryErr := here.TryAcquire(t.Context(), request)
			errs := []error{acquireErr, tryErr, here.Do(t.Context(), request, nil)}
			if argument != "MaxWait" {
				all := applock.AcquireAllRequest{Objects: []applock.Object{nightly}, MaxHold: request.MaxHold, TTL: request.TTL}
				_, err := here.AcquireAllBy(t.Context(), all, here.takeAll)
				errs = append(errs, err)
			}
			for _, err := range errs {
				var invalid *applock.InvalidError
				if !errors.As(err, &invalid) || invalid.Argument != argument || !strings.Contains(invalid.Reason, "30ns") {
					t.Errorf("%s: %v, want ErrInvalid that names 30ns", argument, err)
				}
			}
		}
		if n := here.backend.Calls(fakebackend.Get) + here.backend.Calls(fakebackend.GetAll); n > 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// Goal: a lease that is left is over here, and its object stays locked for the time that was said: no release, no further
// renewal, and a grant that is not there any more is a loss. Method: a backend that writes down what it is asked.
func TestLeave(t *testing.T) {
	t.Parallel()
	var renewals []time.Duration
	var gone error
	backend := &playedBackend{
		renew: func(asked []lease.Renewal) ([]lease.Renewed, error) {
			renewals = append(renewals, asked[0].TTL)
			return []lease.Renewed{{Object: nightly, Lost: gone}}, nil
		},
		release: func(applock.Grant) error {
			t.Error("it was released")
			return nil
		},
	}
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: 9 * time.Second}
		lease := mustAcquire(t, leases, request)
		if err := lease.Leave(t.Context(), 1500*time.Millisecond); !errors.Is(err, applock.ErrInvalid) || lease.Err() != nil {
			t.Errorf("leave for a second and a half: %v, the lease is %v", err, lease.Err())
		}
		if err := lease.Leave(t.Context(), 10*time.Minute); err != nil {
			t.Error(err)
		}
		if err := lease.Err(); !errors.Is(err, applock.ErrNotHeld) || errors.Is(err, applock.ErrLost) {
			t.Errorf("the lease is %v, want released", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release after that: %v", err)
		}
		time.Sleep(time.Minute)
		if !slices.Equal(renewals, []time.Duration{10 * time.Minute}) {
			t.Errorf("renewed for %v, want ten minutes once", renewals)
		}
		gone = applock.ErrNotHeld
		if err := mustAcquire(t, leases, request).Leave(t.Context(), time.Minute); !errors.Is(err, applock.ErrLost) {
			t.Errorf("leave what is lost: %v", err)
		}
	})
}
