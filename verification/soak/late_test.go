package soak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// callsVariable is how many calls are cancelled and broken on each backend.
	callsVariable = "APPLOCK_SOAK_CALLS"
	shortCalls    = 60
	// lateType is the type of the objects, by which the wire knows what is about them.
	lateType = "latetake"
	// callers make calls at the same time.
	callers = 32
	// shortLate and longLate are how late a piece arrives at the most, in a short run and in a long one.
	shortLate = 800 * time.Millisecond
	longLate  = 5 * time.Second
	// lateLimit is for hangs.
	lateLimit = 2 * time.Minute
)

func lateObject(id int) applock.Object {
	return applock.Object{Type: lateType, ID: fmt.Sprint(id)}
}

// opened opens a backend until the test ends.
func opened(t *testing.T, b backend, dsn string) lease.Locker {
	t.Helper()
	locker, closing, err := open(t.Context(), b.name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closing(); err != nil {
			t.Logf("close: %v", err)
		}
	})
	return locker
}

// withoutSessions are the backends whose locks outlive a connection. Where the lock is the session's, a take that arrives late ends with it.
func withoutSessions() (all []backend) {
	for _, b := range backends() {
		if b.hearing == 0 {
			all = append(all, b)
		}
	}
	return all
}

// Goal: a take that arrives after its own release keeps nobody from the object until it expires. Method: the wire cuts a client off that asks
// for the object, and what it sent arrives at the server 20 or 300 ms later. When the server has answered it, the same program wants the
// object, which the late take would have for an hour. SQLite has no wire.
func TestLateTake(t *testing.T) {
	t.Parallel()
	for _, b := range withoutSessions() {
		if b.name == "sqlite" {
			continue
		}
		for _, late := range []time.Duration{20 * time.Millisecond, 300 * time.Millisecond} {
			t.Run(fmt.Sprint(b.name, "/", late), func(t *testing.T) {
				t.Parallel()
				strandOne(t, b, late)
			})
		}
	}
}

func strandOne(t *testing.T, b backend, late time.Duration) {
	t.Helper()
	w, wired := wire.Through(t, b.place(t))
	locker := opened(t, b, wired)
	request := applock.AcquireRequest{Object: lateObject(0), MaxHold: time.Hour}
	if err := locker.Do(t.Context(), request, func(context.Context, applock.Lease) error { return nil }); err != nil {
		t.Fatal(err) // from now on statements are prepared, and scripts are known
	}
	var stranded atomic.Bool
	w.Strand(func(piece []byte) (time.Duration, bool) {
		return late, bytes.Contains(piece, []byte(lateType)) && !stranded.Swap(true)
	})
	if _, err := locker.TryAcquire(t.Context(), request); !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Fatalf("a call that was cut off: %v, want ErrOutcomeUnknown", err)
	}
	await(t, "an answer to what arrived late", func() bool { return w.Landed.Load() == 1 })
	request.MaxWait = lateLimit
	began := time.Now()
	if _, err := locker.Acquire(t.Context(), request); err != nil {
		t.Fatalf("the next caller: %v", err)
	}
	t.Logf("the next caller waited for %s", time.Since(began).Round(time.Millisecond))
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(lateLimit); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("there never is %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// Goal: of many calls that are cancelled and broken no lock is left. Method: callers of one program ask each for an object of its own; some give up
// soon, others are cut off, and what they sent arrives later, also after the release that was to undo it. In the end another program takes
// each object. How long that was not to be had is in the table, and fails no test: it is for a quiet machine to say. SQLite has no wire: there
// the calls are cancelled only.
func TestManyLateTakes(t *testing.T) {
	t.Parallel()
	calls := worker.Number(t, callsVariable, shortCalls)
	late := shortLate
	if calls > shortCalls {
		late = longLate
	}
	seed := uint64(worker.Number(t, seedVariable, int(time.Now().Unix())))
	t.Logf("%s=%d", seedVariable, seed)
	for _, b := range withoutSessions() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			dsn := b.place(t)
			w, wired := (*wire.Wire)(nil), dsn
			if !strings.HasPrefix(dsn, "sqlite:") {
				w, wired = wire.Through(t, dsn)
				w.Strand(strandsSome(w, seed, late))
			}
			locker := opened(t, b, wired)
			outcomes := breakCalls(t, locker, calls, seed)
			stranded := int64(0)
			if w != nil {
				w.Strand(nil)
				await(t, "an answer to all that arrived late", func() bool { return w.Landed.Load() == w.Stranded.Load() })
				stranded = w.Stranded.Load()
			}
			left, took := takeAll(t, opened(t, b, dsn), calls, &outcomes.unreleased)
			t.Logf("%-9s %d calls: %d granted, %d unknown, %d cancelled, %d others, %d releases failed; %d pieces arrived late; %d objects were held when the last had, none after %s",
				b.name, calls, outcomes.granted.Load(), outcomes.unknown.Load(), outcomes.cancelled.Load(), outcomes.others.Load(), outcomes.failed.Load(), stranded, left, took.Round(time.Millisecond))
		})
	}
}

// strandsSome strands one in four of the pieces that name one of the objects. Each keeps a connection of the server, which has not many: so
// there are some at a time.
func strandsSome(w *wire.Wire, seed uint64, most time.Duration) wire.Pick {
	random := mathrand.New(mathrand.NewPCG(seed, 1))
	return func(piece []byte) (time.Duration, bool) {
		const least, oneIn, mostAtATime = 20 * time.Millisecond, 4, 50
		late := time.Duration(float64(least) * math.Pow(float64(most)/float64(least), random.Float64())) // more of the short ones
		return late, random.IntN(oneIn) == 0 && w.Stranded.Load()-w.Landed.Load() < mostAtATime && bytes.Contains(piece, []byte(lateType))
	}
}

// outcomes counts what became of the calls.
type outcomes struct {
	granted, unknown, cancelled, others, failed atomic.Int64
	// unreleased are the objects whose holders were told that the release has failed, so that they stay locked.
	unreleased sync.Map
}

// breakCalls makes the calls, of which every other one gives up within 10 ms.
func breakCalls(t *testing.T, locker lease.Locker, calls int, seed uint64) *outcomes {
	t.Helper()
	counted := &outcomes{}
	var next atomic.Int64
	var group sync.WaitGroup
	for caller := range callers {
		random := mathrand.New(mathrand.NewPCG(seed, uint64(caller)+2))
		group.Go(func() {
			for id := int(next.Add(1)) - 1; id < calls; id = int(next.Add(1)) - 1 {
				patience := lateLimit
				if random.IntN(2) == 0 {
					patience = time.Duration(random.Int64N(int64(10 * time.Millisecond)))
				}
				counted.call(t, locker, lateObject(id), patience)
			}
		})
	}
	group.Wait()
	return counted
}

func (o *outcomes) call(t *testing.T, locker lease.Locker, object applock.Object, patience time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := locker.TryAcquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Hour})
	switch {
	case err == nil:
		o.granted.Add(1)
		if err := lease.Release(t.Context()); err != nil && !errors.Is(err, applock.ErrNotHeld) { // the wire has broken it for 5 s
			o.failed.Add(1)
			o.unreleased.Store(object, true)
		}
	case errors.Is(err, applock.ErrOutcomeUnknown):
		o.unknown.Add(1)
	case errors.Is(err, context.DeadlineExceeded):
		o.cancelled.Add(1)
	default:
		o.others.Add(1)
	}
}

// takeAll takes each object for a moment, except some. It returns how many were held at first, and after what time all have been had.
func takeAll(t *testing.T, locker lease.Locker, count int, except *sync.Map) (held int64, took time.Duration) {
	t.Helper()
	began := time.Now()
	var next, refused atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for id := int(next.Add(1)) - 1; id < count; id = int(next.Add(1)) - 1 {
				if _, isExcepted := except.Load(lateObject(id)); isExcepted {
					continue
				}
				request := applock.AcquireRequest{Object: lateObject(id), MaxHold: time.Hour}
				lease, err := locker.TryAcquire(t.Context(), request)
				if errors.Is(err, applock.ErrHeld) {
					refused.Add(1)
					request.MaxWait = lateLimit
					lease, err = locker.Acquire(t.Context(), request)
				}
				if err != nil {
					t.Errorf("object %d: %v", id, err)
					continue
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("object %d: release: %v", id, err)
				}
			}
		})
	}
	group.Wait()
	return refused.Load(), time.Since(began)
}
