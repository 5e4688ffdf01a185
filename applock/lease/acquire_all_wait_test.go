package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// acquireAllWithin asks a program for several objects as Client.AcquireAll does.
func (p program) acquireAllWithin(ctx context.Context, maxWait time.Duration, objects ...applock.Object) (applock.LeaseSet, error) {
	request := all(objects...)
	request.MaxWait = maxWait
	return p.AcquireAllBy(ctx, request, p.takeAll)
}

// Goal: the wait for several objects ends with MaxWait, or with ctx and its cause, and names all who were in the way. Method:
// two of three objects are held, one here and one elsewhere; exact times.
func TestAcquireAllGivesUp(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		holders := []applock.Lease{here.acquire(t, anHour(account(2))), there.acquire(t, anHour(account(3)))}
		cause := errors.New("the shift is over")
		for name, call := range map[string]func() error{
			"max wait": func() error {
				_, err := here.acquireAllWithin(t.Context(), 7*time.Second, account(3), account(2), account(1))
				return err
			},
			"context": func() error {
				ended, cancel := context.WithTimeoutCause(t.Context(), 7*time.Second, cause)
				defer cancel()
				_, err := here.acquireAllWithin(ended, time.Hour, account(3), account(2), account(1))
				return err
			},
		} {
			began := time.Now()
			err := call()
			var conflict *applock.ConflictError
			if !errors.As(err, &conflict) || len(conflict.Conflicts) != len(holders) || errors.Is(err, cause) != (name == "context") || errors.Is(err, context.DeadlineExceeded) != errors.Is(err, cause) {
				t.Errorf("%s: %v, want two conflicts, and the cause of a context that has ended", name, err)
				continue
			}
			for i, held := range conflict.Conflicts {
				if held.Object != holders[i].Object() || held.Holder.Owner != holders[i].Owner() {
					t.Errorf("%s: conflict %v, want %s by %s", name, held, holders[i].Object(), holders[i].Owner())
				}
			}
			if took := time.Since(began); name == "max wait" && (took < 7*time.Second || took > 8*time.Second) {
				t.Errorf("gave up after %s, want 7 s and less than one more", took)
			}
		}
		for _, holder := range holders {
			release(t, holder)
		}
		if set, err := here.acquireAllWithin(t.Context(), 0, account(1), account(2), account(3)); err != nil || len(set.Leases()) != 3 {
			t.Errorf("after the releases: %v, want nothing to be left of those who gave up", err)
		}
	})
}

// Goal: an object that ctx carries a lease on is re-entered in the end, and not waited for. Method: it carries the first object; the second
// is released after a minute.
func TestAcquireAllReentersAndWaits(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, there program) {
		outer, holder := here.acquire(t, anHour(account(1))), there.acquire(t, anHour(account(2)))
		time.AfterFunc(time.Minute, func() { release(t, holder) })
		set, err := here.acquireAllWithin(outer.Context(), time.Hour, account(1), account(2))
		if err != nil {
			t.Fatal(err)
		}
		if set.Leases()[0].Fence() != outer.Fence() {
			t.Errorf("fence %d, want that of the outer lease, %d", set.Leases()[0].Fence(), outer.Fence())
		}
		if err := set.Release(t.Context()); err != nil || outer.Err() != nil {
			t.Errorf("released with %v, and the outer lease is over with %v, want it to last", err, outer.Err())
		}
	})
}

// holdOnce waits for a set of a given operator for up to an hour, and releases it.
func holdOnce(t *testing.T, p program, operator string, objects ...applock.Object) error {
	t.Helper()
	request := all(objects...)
	request.Owner.Operator, request.MaxWait = operator, time.Hour
	set, err := p.AcquireAllBy(t.Context(), request, p.takeAll)
	if err != nil {
		return err
	}
	return set.Release(t.Context())
}

// Goal: a waiter tries only when the object in its way could be free, even with two sets whose objects overlap: neither wakes the other, or
// itself, again and again. Method: sets of one operator, and sets of two, each of which waits for an object that the other one wants as well,
// since that comes to be held when the first set has moved on to the other; count the calls, and see both served when the objects are free.
func TestSetsWaitQuietly(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"etl-7", "etl-8"} {
		playFake(t, func(t *testing.T, here, there program) {
			sets := [][]applock.Object{{account(1), account(2)}, {account(1), account(2)}}
			inTheWay := []applock.Object{account(2), account(1)}
			if second == "etl-7" {
				sets[1], inTheWay = []applock.Object{account(2), account(3)}, []applock.Object{account(1), account(3)}
			}
			results := make(chan error)
			var holders []applock.Lease
			for i, operator := range []string{"etl-7", second} {
				holders = append(holders, there.acquire(t, anHour(inTheWay[i])))
				go func() { results <- holdOnce(t, here, operator, sets[i]...) }()
				time.Sleep(time.Minute)
			}
			time.Sleep(10 * time.Minute)
			if calls := here.backend.Calls(fakebackend.GetAll); calls > 20 { // one in five minutes each, and the first ones
				t.Errorf("%d calls of two who wait", calls)
			}
			for _, holder := range holders {
				release(t, holder)
			}
			for range holders {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
		})
	}
}

// Goal: a waiter that was blocked while a set tried the same object in passing makes its attempt after that. Method: a backend without
// messages; the set waits for another object, and is slow; meanwhile this object is released here.
func TestSetInPassingLosesNoWake(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		plain := program{Leases: lease.New(here.backend, lease.Config{}), backend: here.backend}
		holder, other := plain.acquire(t, anHour(account(1))), plain.acquire(t, anHour(account(2)))
		done := make(chan error)
		go func() { done <- holdOnce(t, plain, "etl-7", account(1), account(2)) }()
		served := make(chan time.Time)
		go func() {
			request := anHour(account(2))
			request.Owner.Operator = "etl-8"
			lease, err := plain.Acquire(t.Context(), request)
			served <- time.Now()
			if err == nil {
				err = lease.Release(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		plain.with(fakebackend.GetAll, fakebackend.Fault{After: 3 * time.Second})
		release(t, holder) // wakes the set, which reserves the second object for 3 s
		time.Sleep(time.Second)
		release(t, other)
		freed := time.Now()
		if late := (<-served).Sub(freed); late > 5*time.Second {
			t.Errorf("served %s after the object was free, want it when the set has asked", late)
		}
		if err := errors.Join(<-done, plain.Close()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// Goal: a set is had in bounded time where callers pass its objects on to each other, the oldest set first, and the callers go on meanwhile; one
// that waits for an object that is held for days keeps nobody else from the other objects. Method: eight workers that hold one of four objects
// at a time, without a pause, and two sets of all, once with one of the objects held elsewhere.
func TestSetsAreFavoured(t *testing.T) {
	t.Parallel()
	objects := []applock.Object{account(1), account(2), account(3), account(4)}
	for name, isHeld := range map[string]bool{"free": false, "held": true} {
		within, least := 2*time.Second, int64(3000)
		if isHeld {
			within, least = time.Hour, 5000
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, there program) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if isHeld {
					there.acquire(t, anHour(account(1)))
				}
				var turns, sets atomic.Int64
				var group sync.WaitGroup
				for worker := range 8 {
					group.Go(func() {
						for i := worker; ctx.Err() == nil; i++ {
							lease, err := here.Acquire(ctx, anHour(objects[1+i%3]))
							if err != nil {
								return
							}
							time.Sleep(time.Duration(1+i%10) * time.Millisecond)
							turns.Add(1)
							release(t, lease)
						}
					})
				}
				for range 2 {
					group.Go(func() {
						for ctx.Err() == nil {
							if set, err := here.acquireAllWithin(ctx, within, objects...); err == nil {
								sets.Add(1)
								_ = set.Release(context.WithoutCancel(ctx))
							} else if !isHeld && ctx.Err() == nil {
								t.Errorf("no set within two seconds: %v", err)
							}
						}
					})
				}
				group.Wait()
				if t.Logf("%d turns, %d sets", turns.Load(), sets.Load()); turns.Load() < least {
					t.Errorf("want %d turns at the least", least)
				}
			})
		})
	}
}

// Goal: of several sets of one operator none takes over from another one here, also while the oldest is favoured. Method: sixty callers whose sets
// have two of eight objects, and a slow backend.
func TestFavouredSetTakesNothingOver(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		here.with(fakebackend.GetAll, fakebackend.Fault{Before: 100 * time.Millisecond, After: 100 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var sets atomic.Int64
		var group sync.WaitGroup
		for worker := range 60 {
			request := all(account(3+worker%6), account(1+worker%2*8))
			request.Owner.Operator, request.MaxWait = "etl-7", time.Hour
			group.Go(func() {
				for ctx.Err() == nil {
					set, err := here.AcquireAllBy(ctx, request, here.takeAll)
					if err != nil {
						return
					}
					sets.Add(1)
					if err := set.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if sets.Load() < 200 {
			t.Errorf("%d sets", sets.Load())
		}
	})
}
