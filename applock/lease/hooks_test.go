package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// traceKey is what a context of a test carries.
type traceKey struct{}

// Goal: events tell how long callers wait, how long leases are held, and which are lost, with the values of the context that
// the object was acquired with, which may have ended. Method: one of each, and a refusal.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := fakebackend.New()
		var mutex sync.Mutex
		var told []string
		tell := func(format string, values ...any) {
			mutex.Lock()
			defer mutex.Unlock()
			told = append(told, fmt.Sprintf(format, values...))
		}
		leases := lease.New(fakebackend.Program{Backend: backend}, lease.Config{Hooks: lease.Hooks{
			Waited: func(ctx context.Context, object applock.Object, waited time.Duration, err error) {
				tell("%v waited %s for %s: held %t", ctx.Value(traceKey{}), object, waited, errors.Is(err, applock.ErrHeld))
			},
			Held: func(ctx context.Context, object applock.Object, held time.Duration) {
				tell("%v held %s for %s", ctx.Value(traceKey{}), object, held)
			},
			Lost: func(ctx context.Context, object applock.Object, held time.Duration, cause error) {
				tell("%v lost %s after %s: %t", ctx.Value(traceKey{}), object, held, errors.Is(cause, applock.ErrLost))
			},
		}})
		defer func() { _ = leases.Close() }()
		p := program{Leases: leases, backend: backend}
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			mutex.Lock()
			defer mutex.Unlock()
			if len(told) != 1 || told[0] != want {
				t.Errorf("told %q, want %q", told, want)
			}
			told = nil
		}
		// The context of each call ends with the call.
		acquire := func(trace string, request applock.AcquireRequest) (applock.Lease, error) {
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), traceKey{}, trace))
			defer cancel()
			return p.TryAcquire(ctx, request)
		}
		lease, _ := acquire("a", anHour(nightly))
		expect("a waited job:nightly for 0s: held false")
		_, _ = acquire("b", within(10*time.Second))
		expect("b waited job:nightly for 10s: held true")
		release(t, lease)
		expect("a held job:nightly for 10s")
		lease, _ = acquire("c", anHour(nightly))
		expect("c waited job:nightly for 0s: held false")
		backend.End(nightly)
		time.Sleep(time.Minute)
		if err := lease.Renew(t.Context()); !errors.Is(err, applock.ErrLost) {
			t.Error(err)
		}
		expect("c lost job:nightly after 1m0s: true")
		_, _ = acquire("d", anHour(account(1)))
		expect(fmt.Sprintf("d waited %s for 0s: held false", account(1)))
		time.Sleep(time.Minute)
		_ = leases.Close() // as a program does that is replaced: nothing is lost
		expect(fmt.Sprintf("d held %s for 1m0s", account(1)))
	})
}

// Goal: a lease that is held for long is reported once, while it is held, and a short one is not. Method: leases held for less and for more
// than the limit, one of them re-entered and renewed; the calls of the hook and the log.
func TestLongHoldsAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var mutex sync.Mutex
		var told []string
		leases := lease.New(fakebackend.New(), lease.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Hooks: lease.Hooks{
			LongHold: time.Minute,
			LongHeld: func(ctx context.Context, object applock.Object, held time.Duration) {
				mutex.Lock()
				defer mutex.Unlock()
				told = append(told, fmt.Sprintf("%v %s %s", ctx.Value(traceKey{}), object, held))
			},
		}})
		defer func() { _ = leases.Close() }()
		short := mustAcquire(t, leases, anHour(account(1)))
		ctx := context.WithValue(t.Context(), traceKey{}, "a")
		request := anHour(nightly)
		request.TTL = 30 * time.Second
		long, err := leases.Acquire(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leases.Acquire(long.Context(), request); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		release(t, short)
		if err := long.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if want := []string{"a job:nightly 1m0s"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if text := log.String(); strings.Count(text, "a lease is held for long") != 1 || !strings.Contains(text, "object=job:nightly") {
			t.Errorf("the log has\n%s", text)
		}
	})
}

// Goal: the hooks of an object come in order, one after the other, each Waited with one Held or Lost of its lease, and a slow hook delays no
// other object. Method: hooks that take a while, each the shorter the later. An object changes hands by a release, a pass and a loss; a
// set, another object, a caller that gives up, and Close.
func TestHooksComeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mutex sync.Mutex
		told, slow := map[applock.Object][]string{}, time.Hour
		tell := func(object applock.Object, event string) {
			mutex.Lock()
			slow = slow * 3 / 4
			while := slow
			mutex.Unlock()
			time.Sleep(while)
			mutex.Lock()
			defer mutex.Unlock()
			told[object] = append(told[object], event)
		}
		backend := fakebackend.New()
		leases := lease.New(fakebackend.Program{Backend: backend}, lease.Config{Hooks: lease.Hooks{
			Waited: func(_ context.Context, object applock.Object, _ time.Duration, err error) {
				tell(object, map[bool]string{true: "waited", false: "gave up"}[err == nil])
			},
			Held:     func(_ context.Context, object applock.Object, _ time.Duration) { tell(object, "held") },
			Lost:     func(_ context.Context, object applock.Object, _ time.Duration, _ error) { tell(object, "lost") },
			LongHold: time.Minute,
			LongHeld: func(_ context.Context, object applock.Object, _ time.Duration) { tell(object, "long") },
		}})
		p := program{Leases: leases, backend: backend}
		first := p.acquire(t, anHour(nightly))
		waiting := make(chan applock.Lease)
		go func() { waiting <- mustAcquire(t, leases, anHour(nightly)) }()
		time.Sleep(2 * time.Minute)
		if _, err := p.TryAcquire(t.Context(), anHour(nightly)); !errors.Is(err, applock.ErrHeld) {
			t.Error(err)
		}
		release(t, first)
		passed := <-waiting
		backend.End(nightly)
		_ = passed.Renew(t.Context())
		release(t, p.acquire(t, anHour(nightly)))
		set, err := p.AcquireAllBy(t.Context(), all(account(1), account(2)), p.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Release(t.Context()); err != nil {
			t.Error(err)
		}
		p.acquire(t, anHour(account(1)))
		_ = leases.Close()
		time.Sleep(24 * time.Hour)
		mutex.Lock()
		defer mutex.Unlock()
		twice := []string{"waited", "held", "waited", "held"}
		for object, want := range map[applock.Object][]string{
			nightly: {"waited", "long", "gave up", "held", "waited", "lost", "waited", "held"}, account(1): twice, account(2): twice[:2],
		} {
			if !slices.Equal(told[object], want) {
				t.Errorf("%s: told %q, want %q", object, told[object], want)
			}
		}
	})
}
