package lease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// The tests of this file play the backend themselves, in a time of their own, so that failures come when they are to.

// playedBackend answers as its functions say.
type playedBackend struct {
	take    func(ctx context.Context, owner applock.Owner, ttl time.Duration) (applock.Grant, error)
	release func(ctx context.Context, grant applock.Grant) error
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

func (b *playedBackend) Release(ctx context.Context, grant applock.Grant) error {
	if b.release == nil {
		return nil
	}
	return b.release(ctx, grant)
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

// Goal: a lease lasts only as long as was granted, by a policy that cuts its TTL, and is renewed in that time. Without a TTL it ends, and the
// error names the policy. Method: a backend that grants 3 s for any request, from the first grant or from the first renewal on.
func TestPolicyCutsTheLease(t *testing.T) {
	t.Parallel()
	for first, ttl := range map[time.Duration]time.Duration{0: 9 * time.Second, 3 * time.Second: time.Minute} {
		backend := &playedBackend{
			take: func(context.Context, applock.Owner, time.Duration) (applock.Grant, error) {
				return applock.Grant{Fence: 1, Left: first}, nil
			},
			renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
				answers := renewed(renewals)
				answers[0].Left = 3 * time.Second
				return answers, nil
			},
		}
		play(t, backend, func(t *testing.T, leases *lease.Leases) {
			lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: ttl})
			if left := time.Until(lease.Deadline()); first > 0 && left > first {
				t.Errorf("trusted for %s, of which %s were granted", left, first)
			}
			time.Sleep(time.Minute)
			if left := time.Until(lease.Deadline()); left > 3*time.Second || lease.Err() != nil {
				t.Errorf("trusted for %s, of which 3s were granted: %v", left, lease.Err())
			}
			if first == 0 {
				return
			}
			ending := mustAcquire(t, leases, applock.AcquireRequest{Object: account(1), MaxHold: time.Hour})
			time.Sleep(3 * time.Second)
			if err := ending.Err(); !errors.Is(err, applock.ErrLost) || !strings.Contains(err.Error(), "policy") {
				t.Errorf("after what was granted: %v, want that the policy has ended it", err)
			}
		})
	}
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

// Goal: a lease without a TTL costs nothing while it is held, unless the backend asks for checks. A negative interval is none.
func TestNoRenewalWithoutTTL(t *testing.T) {
	t.Parallel()
	for interval, want := range map[time.Duration]int64{0: 0, time.Second: 10, -time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			backend := &playedBackend{renew: func(renewals []lease.Renewal) ([]lease.Renewed, error) {
				calls.Add(1)
				time.Sleep(time.Microsecond) // or a test of endless checks would not end
				return renewed(renewals), nil
			}}
			leases := lease.New(backend, lease.Config{CheckInterval: interval})
			defer func() { _ = leases.Close() }()
			mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			if calls.Load() != want {
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
				release: func(_ context.Context, grant applock.Grant) error {
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
		release: func(context.Context, applock.Grant) error {
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

// Goal: a release goes on when the caller has gone, and repeats what fails for 5 s. A release that had an effect, but whose answer was lost, is
// no loss. One that fails tells what has kept it from succeeding, not that its time was over, and what that means. Method: what happens to
// the calls.
func TestReleaseRepeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(call int64) error
		calls   int64 // zero: until 5 s are over
		want    error
	}{
		"fails twice": {calls: 3, happens: func(call int64) error {
			if call <= 2 {
				return errServer
			}
			return nil
		}},
		"loses its answer": {calls: 2, happens: func(call int64) error {
			if call == 1 {
				return fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, errServer)
			}
			return applock.ErrNotHeld
		}},
		"fails": {want: errServer, happens: func(int64) error { return errServer }},
		"is busy": {want: applock.ErrBusy, happens: func(int64) error {
			time.Sleep(time.Second) // so that the limit ends the last call
			return fmt.Errorf("%w: a row", applock.ErrBusy)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			backend := &playedBackend{release: func(ctx context.Context, _ applock.Grant) error {
				err := c.happens(calls.Add(1))
				return cmp.Or(context.Cause(ctx), err)
			}}
			play(t, backend, func(t *testing.T, leases *lease.Leases) {
				lease := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				gone, cancel := context.WithCancel(t.Context())
				cancel()
				began := time.Now()
				err := lease.Release(gone)
				took := time.Since(began)
				if c.calls > 0 && (err != nil || calls.Load() != c.calls) {
					t.Errorf("release after %d calls: %v, want success after %d", calls.Load(), err, c.calls)
				}
				const means = "release job:nightly, which may stay locked until it expires: "
				isTold := errors.Is(err, c.want) && !errors.Is(err, context.DeadlineExceeded) && strings.HasPrefix(fmt.Sprint(err), means)
				if c.calls == 0 && (!isTold || took < 5*time.Second || took > 6*time.Second) {
					t.Errorf("release after %s: %v, want %q and %v after 5 s", took, err, means, c.want)
				}
				if again := lease.Release(gone); !errors.Is(again, err) {
					t.Errorf("release again: %v, want the same as before: %v", again, err)
				}
			})
		})
	}
}
