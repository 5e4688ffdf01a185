package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// acquirers are the two ways to wait.
func acquirers(leases *lease.Leases) map[string]func(context.Context, applock.AcquireRequest) (applock.Lease, error) {
	return map[string]func(context.Context, applock.AcquireRequest) (applock.Lease, error){"Acquire": leases.Acquire, "TryAcquire": leases.TryAcquire}
}

// Goal: a caller learns that others are changing a lock, however short its wait is, and no later than promised. Method: a server that waits
// for a row for a second, as databases do, and waits that end before its first answer, between two and after some.
func TestBusyIsToldAfterAnyWait(t *testing.T) {
	t.Parallel()
	for _, maxWait := range []time.Duration{
		100 * time.Millisecond, 500 * time.Millisecond, time.Second, 1200 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second,
	} {
		backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			if call.Operation == fakebackend.Get {
				return fakebackend.Fault{Before: time.Second, Refuse: applock.ErrBusy}
			}
			return fakebackend.Fault{}
		})
		play(t, backend, func(t *testing.T, leases *lease.Leases) {
			for name, acquire := range acquirers(leases) {
				began := time.Now()
				_, err := acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: maxWait})
				if !errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrUnreachable) {
					t.Errorf("%s for %s: %v, want ErrBusy", name, maxWait, err)
				}
				if took := time.Since(began); took > maxWait+time.Second {
					t.Errorf("%s for %s took %s", name, maxWait, took)
				}
				time.Sleep(time.Minute)
			}
		})
	}
}

// Goal: a caller whose context ends gets its cause, and that nobody has answered; another caller does not get that cause. Method: a silent
// server, and a second caller behind the first one, with more time.
func TestSilenceIsToldBesideTheCause(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Acquire", "TryAcquire"} {
		backend := unpolledFake(func(context.Context, fakebackend.Call) fakebackend.Fault { return fakebackend.Fault{Before: time.Hour} })
		play(t, backend, func(t *testing.T, leases *lease.Leases) {
			call := func(limit time.Duration, cause error) error {
				ctx, cancel := context.WithTimeoutCause(t.Context(), limit, cause)
				defer cancel()
				_, err := acquirers(leases)[name](ctx, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour})
				return err
			}
			errFirst, errSecond := errors.New("the shift is over"), errors.New("the day is over")
			second := make(chan error)
			go func() {
				time.Sleep(100 * time.Millisecond)
				second <- call(20*time.Second, errSecond)
			}()
			if err := call(500*time.Millisecond, errFirst); !errors.Is(err, errFirst) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, applock.ErrUnreachable) {
				t.Errorf("%s: %v, want DeadlineExceeded, its cause and ErrUnreachable", name, err)
			}
			if err := <-second; !errors.Is(err, errSecond) || errors.Is(err, errFirst) {
				t.Errorf("%s behind it: %v, want its own cause", name, err)
			}
		})
	}
}
