package lease_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// The tests of this file take the doc comments of leases one by one, in virtual time. Where they compare times, these are
// exact.

// program is one program of a test, on a fake backend.
type program struct {
	*lease.Leases
	backend *fakebackend.Backend
}

// playFake runs a test with two programs on one backend, on which calls take 10 ms there and 10 ms back.
func playFake(t *testing.T, test func(t *testing.T, here, there program)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		backend := fakebackend.New()
		backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault {
			return fakebackend.Fault{Before: 10 * time.Millisecond, After: 10 * time.Millisecond}
		}
		var programs []program
		for _, name := range []string{"here", "there"} {
			leases := lease.New(fakebackend.Program{Backend: backend, Name: name}, lease.Config{})
			defer func() {
				if err := leases.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			programs = append(programs, program{Leases: leases, backend: backend})
		}
		test(t, programs[0], programs[1])
	})
}

// with adds a fault to all calls of an operation.
func (p program) with(operation string, fault fakebackend.Fault) {
	p.backend.ChangeFault(func(former fakebackend.Faults) fakebackend.Faults {
		return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
			if call.Operation == operation {
				return fault
			}
			return former(ctx, call)
		}
	})
}

// takeAll takes several objects for AcquireAllBy.
func (p program) takeAll(
	ctx context.Context, objects []applock.Object, owner applock.Owner, term time.Duration,
) ([]applock.Grant, error) {
	claims := make([]fakebackend.Claim, len(objects))
	for i, object := range objects {
		claims[i] = fakebackend.Claim{Object: object, Owner: owner, TTL: term}
	}
	return p.backend.GetAll(ctx, claims)
}

func anHour(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: time.Hour}
}

func within(maxWait time.Duration) applock.AcquireRequest {
	request := anHour(nightly)
	request.MaxWait = maxWait
	return request
}

func (p program) acquire(t *testing.T, request applock.AcquireRequest) applock.Lease {
	t.Helper()
	lease, err := p.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func release(t *testing.T, lease applock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// requireRefused requires ErrHeld with the holder, after exactly this time.
func requireRefused(t *testing.T, began time.Time, after time.Duration, err error, holder applock.Lease) {
	t.Helper()
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Object != holder.Object() || held.Holder.Owner != holder.Owner() {
		t.Errorf("refused with %v, want that %s holds it", err, holder.Owner())
	}
	if took := time.Since(began); took != after {
		t.Errorf("refused after %s, want %s", took, after)
	}
}

// Goal: MaxWait means one thing in both calls, but for zero, and a refusal names the holder. Method: a holder in the same
// program, which needs no call, and one in another.
func TestMaxWait(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		const asking, wait = 20 * time.Millisecond, 5 * time.Second
		holder := here.acquire(t, anHour(nightly))
		for name, p := range map[string]program{"here": here, "there": there} {
			call := asking
			if name == "here" {
				call = 0
			}
			began := time.Now()
			_, err := p.TryAcquire(t.Context(), within(0))
			requireRefused(t, began, call, err, holder)
			for _, acquire := range []func(context.Context, applock.AcquireRequest) (applock.Lease, error){p.Acquire, p.TryAcquire} {
				began := time.Now()
				_, err := acquire(t.Context(), within(wait))
				after := wait
				if name == "there" {
					after += asking // the last answer was old
				}
				requireRefused(t, began, after, err, holder)
			}
			if err := p.Do(t.Context(), within(wait), nil); !errors.Is(err, applock.ErrHeld) {
				t.Errorf("do: %v, want ErrHeld", err)
			}
		}
		release(t, holder)
		for _, acquire := range []func(context.Context, applock.AcquireRequest) (applock.Lease, error){here.Acquire, there.TryAcquire} {
			if _, err := acquire(t.Context(), within(-1)); !errors.Is(err, applock.ErrInvalid) {
				t.Errorf("a negative MaxWait: %v, want ErrInvalid", err)
			}
		}
	})
}

// Goal: without a MaxWait Acquire waits as long as its context, and says why it ended and who had the object. Method: a
// deadline of four hours, with a cause.
func TestAcquireWaitsForItsContext(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		holder := here.acquire(t, applock.AcquireRequest{Object: nightly, MaxHold: 100 * time.Hour})
		for _, p := range []program{here, there} {
			began := time.Now()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Hour, errors.New("the shift is over"))
			_, err := p.Acquire(ctx, anHour(nightly))
			cancel()
			requireRefused(t, began, 4*time.Hour, err, holder)
			if err == nil || !errors.Is(err, context.Cause(ctx)) {
				t.Errorf("acquire: %v, want the cause", err)
			}
		}
		time.Sleep(time.Minute)
		if n := here.backend.Waiting(); n > 0 {
			t.Errorf("%d are listed as waiting", n)
		}
	})
}

// Goal: the context of a lease re-enters, at any depth; only the last release frees; everybody else waits. Method: leases on
// one object, released in both orders, with a waiter from each program.
func TestReentry(t *testing.T) {
	t.Parallel()
	for _, outermostFirst := range []bool{false, true} {
		playFake(t, func(t *testing.T, here, there program) {
			outer := here.acquire(t, anHour(nightly))
			between, err := here.Acquire(outer.Context(), anHour(account(1)))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			inner, err := here.Acquire(between.Context(), anHour(nightly))
			if err != nil {
				t.Fatal(err)
			}
			innermost, err := here.TryAcquire(inner.Context(), anHour(nightly))
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 0 || inner.Owner() != outer.Owner() || inner.Fence() != outer.Fence() {
				t.Errorf("re-entered after %s as %s with fence %d, want %s and %d", took, inner.Owner(), inner.Fence(), outer.Owner(), outer.Fence())
			}
			served := make(chan applock.Lease, 2)
			for _, p := range []program{here, there} {
				go func() { served <- p.acquire(t, anHour(nightly)) }()
			}
			leases := []applock.Lease{innermost, inner, between, outer}
			if outermostFirst {
				leases = []applock.Lease{outer, between, inner, innermost}
			}
			for _, lease := range leases {
				time.Sleep(time.Minute)
				if len(served) > 0 {
					t.Fatal("a waiter was served before the last release")
				}
				release(t, lease)
				if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrNotHeld) || errors.Is(cause, applock.ErrLost) {
					t.Errorf("the context of a released lease ended with %v, want ErrNotHeld only", cause)
				}
			}
			release(t, <-served)
			release(t, <-served)
			anew, err := here.Acquire(context.WithoutCancel(outer.Context()), anHour(nightly))
			if err != nil || anew.Fence() == outer.Fence() {
				t.Errorf("acquired with the context of a released lease: %v, %v, want a new grant", anew, err)
			}
		})
	}
}

// Goal: re-entering neither shortens nor extends the lease; Renew begins MaxHold anew. Method: re-enter with less and with
// more; renew after 40 minutes; the lease then ends by itself.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, 9 * time.Second} {
		playFake(t, func(t *testing.T, here, there program) {
			began := time.Now()
			request := anHour(nightly)
			request.TTL = ttl
			lease := here.acquire(t, request)
			deadline := lease.Deadline()
			for _, maxHold := range []time.Duration{time.Second, 10 * time.Hour} {
				inner, err := here.Acquire(lease.Context(), applock.AcquireRequest{Object: nightly, MaxHold: maxHold})
				if err != nil || !inner.Deadline().Equal(deadline) {
					t.Errorf("re-entered with %s: %v, %v, want the same deadline", maxHold, inner, err)
				}
				release(t, inner)
			}
			time.Sleep(40 * time.Minute)
			renewed := time.Now()
			if err := lease.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			next := there.acquire(t, anHour(nightly))
			if held := time.Since(renewed); held < time.Hour-time.Second || held > time.Hour+time.Second {
				t.Errorf("taken over %s after the renewal, and %s after the beginning", held, time.Since(began))
			}
			if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) {
				t.Errorf("ended with %v, want ErrLost", cause)
			}
			if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
				t.Errorf("late release: %v, want ErrLost", err)
			}
			if err := next.Renew(t.Context()); err != nil {
				t.Errorf("the late release harmed the next holder: %v", err)
			}
		})
	}
}

// Goal: a lease without MaxHold and TTL lasts until its release, and is never locked for longer than a minute ahead. Method: alone and in a
// set, for four days.
func TestWithoutMaxHold(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		set, err := here.AcquireAllBy(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{account(1)}}, here.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		lease := here.acquire(t, applock.AcquireRequest{Object: nightly})
		for range 100 {
			time.Sleep(59 * time.Minute)
			for _, object := range []applock.Object{nightly, account(1)} {
				_, err := there.TryAcquire(t.Context(), applock.AcquireRequest{Object: object})
				var held *applock.HeldError
				if !errors.As(err, &held) || time.Until(held.Holder.ExpiresAt) > applock.DefaultLeaseTTL {
					t.Fatalf("%s: %v, want it held for a minute at most", object, err)
				}
			}
		}
		if err := errors.Join(lease.Release(t.Context()), set.Release(t.Context())); err != nil {
			t.Error(err)
		}
		release(t, there.acquire(t, applock.AcquireRequest{Object: nightly}))
	})
}

// Goal: the context of Acquire bounds acquiring only; its values stay. Method: cancel it, hold on, and release by it.
func TestAcquiringContextBoundsNoMore(t *testing.T) {
	t.Parallel()
	type key struct{}
	playFake(t, func(t *testing.T, here, _ program) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		lease, err := here.Acquire(ctx, anHour(nightly))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(30 * time.Minute)
		if lease.Context().Err() != nil || lease.Context().Value(key{}) != "kept" {
			t.Errorf("the lease ended with %v, and has the value %v", lease.Context().Err(), lease.Context().Value(key{}))
		}
		if err := lease.Release(ctx); err != nil {
			t.Errorf("release with a context that has ended: %v", err)
		}
		takes := here.backend.Calls(fakebackend.Get)
		if _, err := here.Acquire(ctx, anHour(nightly)); !errors.Is(err, context.Canceled) {
			t.Errorf("acquire with a context that has ended: %v", err)
		}
		if n := here.backend.Calls(fakebackend.Get) - takes; n > 0 {
			t.Errorf("%d calls with a context that has ended", n)
		}
	})
}

// lossWays are the ways in which a holder hears that its grant is not live any more.
var lossWays = map[string]func(ctx context.Context, here, there program, lease applock.Lease) error{
	"Renew":   func(ctx context.Context, _, _ program, lease applock.Lease) error { return lease.Renew(ctx) },
	"Release": func(ctx context.Context, _, _ program, lease applock.Lease) error { return lease.Release(ctx) },
	"Transfer": func(ctx context.Context, _, _ program, lease applock.Lease) error {
		_, err := lease.Transfer(ctx, applock.Owner{Operator: "ASMITH"}, 0)
		return err
	},
	"Renewal": func(_ context.Context, _, _ program, lease applock.Lease) error {
		<-lease.Context().Done()
		return context.Cause(lease.Context())
	},
	"Do": func(ctx context.Context, here, there program, _ applock.Lease) error {
		return here.Do(ctx, anHour(account(1)), func(context.Context, applock.Lease) error {
			there.backend.End(account(1))
			return nil
		})
	},
	"Set": func(ctx context.Context, here, there program, _ applock.Lease) error {
		request := all(account(1), account(2))
		request.TTL = time.Second
		set, err := here.AcquireAllBy(ctx, request, here.takeAll)
		if err != nil {
			return err
		}
		there.backend.End(account(2))
		<-set.Context().Done()
		return errors.Join(context.Cause(set.Context()), set.Release(ctx))
	},
}

// Goal: a loss is ErrLost and ErrNotHeld, never ErrHeld, and a *LostError with the object and its holder, if any. Method: each way of
// noticing it, after a supervisor has ended the grant and after another operator has taken over.
func TestLostIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, way := range lossWays {
		for _, takenOver := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, takenOver), func(t *testing.T) {
				t.Parallel()
				playFake(t, func(t *testing.T, here, there program) {
					request := anHour(nightly)
					request.TTL = 9 * time.Second
					lease := here.acquire(t, request)
					here.backend.End(nightly)
					var want applock.Holder
					if takenOver {
						next := there.acquire(t, anHour(nightly))
						want = applock.Holder{Owner: next.Owner(), ExpiresAt: next.ExpiresAt()}
					}
					err := way(t.Context(), here, there, lease)
					if !errors.Is(err, applock.ErrLost) || !errors.Is(err, applock.ErrNotHeld) || errors.Is(err, applock.ErrHeld) {
						t.Errorf("%v, want ErrLost and ErrNotHeld, and not ErrHeld", err)
					}
					var lost *applock.LostError
					if !errors.As(err, &lost) {
						t.Fatalf("%v is no *LostError", err)
					}
					isHere := name != "Do" && name != "Set" // these have other objects, which nobody takes
					if isHere && (lost.Object != nightly || lost.Holder != want) || !isHere && lost.Object.Type != "account" || lost.Reason == "" {
						t.Errorf("lost %s to %+v because of %q, want %+v", lost.Object, lost.Holder, lost.Reason, want)
					}
				})
			})
		}
	}
}

// Goal: Do releases however work ends, and says so when work may not have been alone. Method: each end.
func TestDo(t *testing.T) {
	t.Parallel()
	failure := errors.New("work failed")
	ends := map[string]struct {
		work func(ctx context.Context, cancel context.CancelCauseFunc) error
		want error
	}{
		"Nil":   {work: func(context.Context, context.CancelCauseFunc) error { return nil }},
		"Error": {work: func(context.Context, context.CancelCauseFunc) error { return failure }, want: failure},
		"Cancelled": {work: func(ctx context.Context, cancel context.CancelCauseFunc) error {
			cancel(failure)
			<-ctx.Done()
			return context.Cause(ctx)
		}, want: failure},
		"Overrun": {work: func(ctx context.Context, _ context.CancelCauseFunc) error {
			<-ctx.Done()
			return nil
		}, want: applock.ErrLost},
		"Panic":  {work: func(context.Context, context.CancelCauseFunc) error { panic(failure) }, want: failure},
		"Goexit": {work: func(context.Context, context.CancelCauseFunc) error { runtime.Goexit(); return nil }},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, _ program) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				result := make(chan error, 1)
				go func() {
					var err error
					defer func() {
						if recovered, ok := recover().(error); ok {
							err = recovered
						}
						result <- err
					}()
					err = here.Do(ctx, anHour(nightly), func(ctx context.Context, lease applock.Lease) error {
						if lease.Object() != nightly || ctx.Err() != nil {
							t.Errorf("works on %s with %v", lease.Object(), ctx.Err())
						}
						return end.work(ctx, cancel)
					})
				}()
				if err := <-result; !errors.Is(err, end.want) {
					t.Errorf("do: %v, want %v", err, end.want)
				}
				time.Sleep(time.Second) // what has run out is released in the background
				if _, isHeld := here.backend.Holder(nightly); isHeld {
					t.Error("the object is held afterwards")
				}
			})
		})
	}
}

// Goal: whatever is wrong with a request is said before anything happens, and names the field. A duration whose unit was forgotten is
// wrong. Method: each call.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		tests := map[string][]applock.AcquireRequest{
			"Object.Type":      {{Object: applock.Object{ID: "1"}, MaxHold: time.Hour}},
			"Object.ID":        {{Object: applock.Object{Type: "job"}, MaxHold: time.Hour}},
			"Owner.Operator":   {{Object: nightly, Owner: applock.Owner{Operator: "\x00"}, MaxHold: time.Hour}},
			"Owner.Department": {{Object: nightly, Owner: applock.Owner{Department: "\xff"}, MaxHold: time.Hour}},
			"MaxHold":          {{Object: nightly, MaxHold: -time.Second}, {Object: nightly, MaxHold: 30}},
			"MaxWait":          {within(-1), within(30)},
			"TTL":              {{Object: nightly, MaxHold: time.Hour, TTL: 1500 * time.Millisecond}, {Object: nightly, MaxHold: time.Hour, TTL: 30}},
		}
		for argument, requests := range tests {
			for _, request := range requests {
				_, acquireErr := here.Acquire(t.Context(), request)
				_, tryErr := here.TryAcquire(t.Context(), request)
				all := applock.AcquireAllRequest{
					Objects: []applock.Object{request.Object}, Owner: request.Owner, MaxHold: request.MaxHold, MaxWait: request.MaxWait, TTL: request.TTL,
				}
				_, allErr := here.AcquireAllBy(t.Context(), all, here.takeAll)
				for _, err := range []error{acquireErr, tryErr, here.Do(t.Context(), request, nil), allErr} {
					var invalid *applock.InvalidError
					if !errors.As(err, &invalid) || !strings.HasSuffix(invalid.Argument, argument) {
						t.Errorf("%s: %v, want ErrInvalid with that field", argument, err)
					}
				}
			}
		}
		if n := here.backend.Calls(fakebackend.Get) + here.backend.Calls(fakebackend.GetAll); n > 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// Goal: an outage of the backend is no loss if it is short, no matter when it begins. Method: an outage of half the TTL at
// each of many moments.
func TestShortOutagesLoseNothing(t *testing.T) {
	t.Parallel()
	const ttl = 9 * time.Second
	for begins := time.Duration(0); begins < 2*ttl; begins += 500 * time.Millisecond {
		playFake(t, func(t *testing.T, here, _ program) {
			request := anHour(nightly)
			request.TTL = ttl
			lease := here.acquire(t, request)
			began := time.Now()
			here.backend.ChangeFault(func(calm fakebackend.Faults) fakebackend.Faults {
				return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
					if since := time.Since(began); since >= begins && since < begins+ttl/2 {
						return fakebackend.Fault{Refuse: errServer}
					}
					return calm(ctx, call)
				}
			})
			time.Sleep(time.Minute)
			if cause := context.Cause(lease.Context()); cause != nil {
				t.Errorf("lost in an outage from %s to %s: %v", begins, begins+ttl/2, cause)
			}
		})
	}
}

// Goal: TryDo runs work or says that it has not, and a refusal that work meets is not taken for its own. Method: a free object,
// with work that returns a refusal; then one that is held.
func TestTryDo(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		refusal := &applock.HeldError{Object: account(1)}
		ran, err := here.TryDo(t.Context(), anHour(nightly), func(ctx context.Context, lease applock.Lease) error {
			if lease.Object() != nightly || lease.Err() != nil || ctx.Err() != nil {
				t.Errorf("works on %s with %v", lease.Object(), ctx.Err())
			}
			return refusal
		})
		if !ran || !errors.Is(err, applock.ErrHeld) {
			t.Errorf("%t, %v, want that work ran and its error", ran, err)
		}
		holder := there.acquire(t, anHour(nightly))
		began := time.Now()
		ran, err = here.TryDo(t.Context(), anHour(nightly), nil)
		if ran {
			t.Error("work ran beside a holder")
		}
		requireRefused(t, began, 20*time.Millisecond, err, holder)
	})
}
