package soak_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// manyVariable is how many leases live, and how many waiters wait, at a time in one process.
	manyVariable = "APPLOCK_SOAK_MANY"
	// callersVariable is how many callers take and release something else meanwhile.
	callersVariable = "APPLOCK_SOAK_CALLERS"

	shortMany    = 200
	shortCallers = 10
	// hands is how many calls take or release what is many.
	hands = 64
	// glance is how often the leases are looked at: much more often than they are renewed.
	glance = 200 * time.Millisecond
	// wakeLimit is for hangs. It is shorter than the time after which a forgotten waiter asks for itself.
	wakeLimit = 4 * time.Minute
)

// Goal: many leases with a TTL live beside busy callers of the same client. Method: one client holds them, while others get
// and release objects of their own, for the time of a soak and until each lease has been renewed. A lease that ends has to have
// a cause: the process had no processor. The table shows how many renewals there were, and how near a lease came to its end.
// A few here, 10,000 beside 64 callers by `make soak`.
func TestManyLeases(t *testing.T) {
	t.Parallel()
	many, callers := worker.Number(t, manyVariable, shortMany), worker.Number(t, callersVariable, shortCallers)
	long := time.Duration(worker.Number(t, secondsVariable, shortSeconds)) * time.Second
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			locker := opened(t, b, b.place(t))
			began := time.Now()
			kept := &keeping{leases: takeMany(t, locker, many, ttl), least: ttl}
			taking := time.Since(began)
			w, journal := watched(t)
			cycles := keepBusy(t, locker, callers)
			watching, cancel := context.WithCancel(t.Context())
			var watch sync.WaitGroup
			watch.Go(func() { w.watchStalls(watching) })
			began = time.Now()
			kept.watch(t.Context(), w, long)
			lasted := time.Since(began).Seconds()
			done := cycles()
			cancel()
			watch.Wait()
			v := judge(slices.Concat(worker.Read[record](t, journal)...), ttl, 1, 0, false)
			t.Logf("%-16s leases %d, taken in %s, lost %d (without a cause %d), renewals %.0f/s, at least %s left, "+
				"%d callers %.0f cycles/s", b.name, many, rounded(taking), v.losses, len(v.unfounded), float64(kept.renewals)/lasted,
				rounded(kept.least), callers, float64(done)/lasted)
			if len(v.unfounded) > 0 {
				t.Errorf("%d leases were lost without a cause, such as: %s", len(v.unfounded), v.unfounded[0])
			}
			if done == 0 {
				t.Error("the callers have held nothing")
			}
		})
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// watched returns a program that writes into a journal of the folder.
func watched(t *testing.T) (w *program, folder string) {
	t.Helper()
	folder = t.TempDir()
	return &program{journal: openJournal(t, filepath.Join(folder, "worker.jsonl"))}, folder
}

func manyObject(i int) applock.Object { return applock.Object{Type: "many", ID: fmt.Sprint(i)} }

// takeMany acquires so many objects, some at a time.
func takeMany(t *testing.T, locker lease.Locker, many int, ttl time.Duration) []applock.Lease {
	t.Helper()
	leases := make([]applock.Lease, many)
	byHands(t, many, func(i int) (err error) {
		leases[i], err = locker.Acquire(t.Context(), applock.AcquireRequest{Object: manyObject(i), MaxHold: maxHold, TTL: ttl})
		return err
	})
	return leases
}

// byHands does something for each of many, some at a time.
func byHands(t *testing.T, many int, do func(i int) error) {
	t.Helper()
	errs := make([]error, hands)
	var group sync.WaitGroup
	for hand := range hands {
		group.Go(func() {
			for i := hand; i < many && errs[hand] == nil; i += hands {
				errs[hand] = do(i)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// keepBusy has callers acquire and release an object each, again and again. The function that it returns ends them, and returns
// how often they did.
func keepBusy(t *testing.T, locker lease.Locker, callers int) (end func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var cycles atomic.Int64
	var group sync.WaitGroup
	for i := range callers {
		object := applock.Object{Type: "busy", ID: fmt.Sprint(i)}
		group.Go(func() {
			for ctx.Err() == nil {
				lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute})
				if err == nil {
					err = lease.Release(context.WithoutCancel(ctx))
				}
				if err != nil {
					worker.Rest(ctx, stallTick)
					continue
				}
				cycles.Add(1)
			}
		})
	}
	return func() int64 {
		cancel()
		group.Wait()
		return cycles.Load()
	}
}

// keeping is leases that are to live.
type keeping struct {
	leases   []applock.Lease
	renewals int
	least    time.Duration // that was left of a lease
}

// watch looks at the leases for so long, and until each was renewed or lost. It writes what is lost.
func (k *keeping) watch(ctx context.Context, w *program, long time.Duration) {
	began := time.Now()
	deadlines := make([]time.Time, len(k.leases))
	for i, lease := range k.leases {
		deadlines[i] = lease.Deadline()
	}
	waiting := make([]bool, len(k.leases)) // for the first renewal
	for i := range waiting {
		waiting[i] = true
	}
	over := make([]bool, len(k.leases))
	for ctx.Err() == nil && (time.Since(began) < long || slices.Contains(waiting, true)) {
		worker.Rest(ctx, glance)
		for i, lease := range k.leases {
			if over[i] {
				continue
			}
			deadline, now := lease.Deadline(), time.Now()
			if err := lease.Err(); err != nil {
				over[i], waiting[i] = true, false
				w.write(record{
					Kind: kindLost, Object: lease.Object().String(), From: micros(now), To: micros(now), Note: fmt.Sprint(err),
				})
				continue
			}
			k.least = min(k.least, deadline.Sub(now))
			if !deadline.Equal(deadlines[i]) {
				deadlines[i], waiting[i] = deadline, false
				k.renewals++
			}
		}
	}
}

// Goal: many waiters are woken whose objects are released at once. Method: one client holds an object for each, another one waits
// for all of them, and the first one releases them as fast as it can. The table shows the time from the first and the last
// release to the last waiter that has its object. Some here, 10,000 by `make soak`.
func TestManyWaiters(t *testing.T) {
	t.Parallel()
	many := worker.Number(t, manyVariable, shortMany)
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			dsn := b.place(t)
			holder, waiting := opened(t, b, dsn), opened(t, b, dsn)
			leases := takeMany(t, holder, many, 0)
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			crowd := gather(ctx, waiting, many)
			crowd.untilWaiting(t)
			gathering := time.Since(began)
			limit := time.AfterFunc(wakeLimit, cancel)
			defer limit.Stop()
			began = time.Now()
			byHands(t, many, func(i int) error { return leases[i].Release(t.Context()) })
			released := time.Now()
			failures := crowd.untilWoken()
			woken := time.Now()
			t.Logf("%-16s waiters %d, gathered in %s, woken %d, the last one %s after the first release, %s after the last of them",
				b.name, many, rounded(gathering), many-len(failures), rounded(woken.Sub(began)), rounded(woken.Sub(released)))
			if len(failures) > 0 {
				t.Errorf("%d of %d were not woken: %v", len(failures), many, failures[0])
			}
		})
	}
}

// crowd is who waits for the objects, each for another one.
type crowd struct {
	locker  lease.Locker
	many    int
	refused sync.WaitGroup // until each was refused once
	woken   chan error
}

func gather(ctx context.Context, locker lease.Locker, many int) *crowd {
	c := &crowd{locker: locker, many: many, woken: make(chan error, many)}
	for i := range many {
		c.refused.Add(1)
		go func() { c.woken <- c.wait(ctx, applock.AcquireRequest{Object: manyObject(i), MaxHold: time.Minute}) }()
	}
	return c
}

// wait acquires an object that it is refused at first.
func (c *crowd) wait(ctx context.Context, request applock.AcquireRequest) error {
	_, err := c.locker.TryAcquire(ctx, request)
	c.refused.Done()
	if !errors.Is(err, applock.ErrHeld) {
		return fmt.Errorf("%s is not held by the other client: %w", request.Object, err)
	}
	_, err = c.locker.Acquire(ctx, request)
	return err
}

// untilWaiting returns when all have been refused and, where waiters are listed, are, or when somebody has stopped waiting.
func (c *crowd) untilWaiting(t *testing.T) {
	t.Helper()
	c.refused.Wait()
	client, ok := c.locker.(*applock.Client)
	for ok && len(c.woken) == 0 && listed(t, client) < c.many {
		worker.Rest(t.Context(), glance)
	}
}

func listed(t *testing.T, client *applock.Client) (count int) {
	t.Helper()
	for _, err := range client.Waiters(t.Context(), applock.WaitersRequest{PageSize: applock.MaxPageSize}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	return count
}

func (c *crowd) untilWoken() (failures []error) {
	for range c.many {
		if err := <-c.woken; err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}
