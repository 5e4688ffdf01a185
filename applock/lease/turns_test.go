package lease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// Goal: no program starves: each waiter has the object within three fair turns, the time in which each worker has it once; where nobody knows
// whose turn it is, within twelve, since chance decides. Method: workers in several programs that hold it again and again, evenly and in one
// program against a single one in another, on a backend that only answers polls and on one that lists waiters.
func TestFairTurns(t *testing.T) {
	t.Parallel()
	const holds, rounds = 300 * time.Millisecond, 40
	for name, workers := range map[string][]int{"Even": {4, 4, 4, 4}, "Outsider": {15, 1}} {
		for _, messages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/messages=%t", name, messages), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					backend := fakebackend.New()
					backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault {
						return fakebackend.Fault{Before: 200 * time.Microsecond, After: 200 * time.Microsecond}
					}
					total := 0
					for _, number := range workers {
						total += number
					}
					fair := time.Duration(total) * (holds + time.Millisecond)
					// By chance a program has each fourth row of two turns, and a worker its turn in the second one. That it has none in the 96 rows of
					// twelve fair turns happens once in 30,000 million waits; in those of six once in 58,000, of which this test has 640.
					longest := 12 * fair
					if messages {
						longest = 3 * fair
					}
					ctx, cancel := context.WithTimeout(t.Context(), rounds*fair)
					defer cancel()
					var group sync.WaitGroup
					for i, number := range workers {
						var kind lease.Backend = fakebackend.Polled{Backend: backend}
						if messages {
							kind = fakebackend.Program{Backend: backend, Name: fmt.Sprint(i)}
						}
						leases := lease.New(kind, lease.Config{})
						defer func() { _ = leases.Close() }()
						for worker := range number {
							group.Go(func() { takeTurns(ctx, t, leases, fmt.Sprintf("program%d/1/%d", i, worker), holds, longest) })
						}
					}
					group.Wait()
				})
			})
		}
	}
}

// takeTurns holds the nightly job again and again until ctx ends, by names that are like those of a process of its own, and returns how often.
func takeTurns(ctx context.Context, t *testing.T, leases *lease.Leases, name string, holds, longest time.Duration) (turns int) {
	t.Helper()
	request := anHour(nightly)
	for ; ctx.Err() == nil; turns++ {
		request.Owner.Operator = fmt.Sprintf("%s-%d", name, turns)
		began := time.Now()
		lease, err := leases.Acquire(ctx, request)
		if waited := time.Since(began); waited > longest {
			t.Errorf("waited for %s, want at most %s", waited, longest)
		}
		if err != nil {
			return turns
		}
		time.Sleep(holds)
		_ = lease.Release(context.WithoutCancel(ctx))
	}
	return turns
}

// Goal: where two programs want an object and nobody else, neither is held back for the sake of others: a release is followed by
// the other one's grant as soon as a message or the next poll tells of it. Method: one of them holds the object for times that
// differ, the other one waits each time.
func TestTwoProgramsHandOverAtOnce(t *testing.T) {
	t.Parallel()
	const (
		handOffs = 40
		journey  = 200 * time.Microsecond
	)
	for name, late := range map[string]time.Duration{"messages": 5 * journey, "polls": 15 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := fakebackend.New()
				backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault {
					return fakebackend.Fault{Before: journey, After: journey}
				}
				open := func(program string) *lease.Leases {
					if name == "polls" {
						return lease.New(fakebackend.Polled{Backend: backend}, lease.Config{})
					}
					return lease.New(fakebackend.Program{Backend: backend, Name: program}, lease.Config{})
				}
				holder, waiter := open("holder"), open("waiter")
				defer func() { _, _ = holder.Close(), waiter.Close() }()
				for i := range handOffs {
					held := mustAcquire(t, holder, anHour(nightly))
					var released time.Time
					time.AfterFunc(time.Duration(10+i*7%30)*time.Millisecond, func() {
						released = time.Now()
						_ = held.Release(context.WithoutCancel(t.Context()))
					})
					lease := mustAcquire(t, waiter, anHour(nightly))
					if took := time.Since(released); took > late {
						t.Errorf("hand-off %d took %s, want %s at the most", i, took, late)
					}
					if err := lease.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// Goal: after a release only the program that has waited longest tries to take the object; if it does not, the others do. Method: programs
// that wait one after the other, of which the first is dead or not; the takes from the release on, in a time in which nothing takes any.
func TestOneProgramAsksFirst(t *testing.T) {
	t.Parallel()
	const (
		programs = 10
		journey  = time.Millisecond
	)
	for name, late := range map[string]time.Duration{"alive": 4 * journey, "dead": 350 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := fakebackend.New()
				var takes atomic.Int32
				backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
					if call.Operation == fakebackend.Get {
						takes.Add(1)
					}
					return fakebackend.Fault{Before: journey, After: journey}
				}
				open := func(program string) *lease.Leases {
					leases := lease.New(fakebackend.Program{Backend: backend, Name: program}, lease.Config{})
					t.Cleanup(func() { _ = leases.Close() })
					return leases
				}
				held := mustAcquire(t, open("holder"), anHour(nightly))
				if name == "dead" {
					dead := fakebackend.Program{Backend: backend, Name: "dead"}
					if err := dead.Announce(t.Context(), nightly, applock.Owner{Operator: "JDOE"}, 0); err != nil {
						t.Fatal(err)
					}
				}
				granted := make(chan int, programs)
				for i := range programs {
					leases := open(fmt.Sprint(i))
					go func() {
						if _, err := leases.Acquire(t.Context(), anHour(nightly)); err == nil {
							granted <- i
						}
					}()
					time.Sleep(time.Second)
				}
				takes.Store(0)
				released := time.Now()
				if err := held.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				first := <-granted
				if took := time.Since(released); took > late {
					t.Errorf("the hand-off took %s, want %s at the most", took, late)
				}
				time.Sleep(30 * journey) // and no others have asked
				if n := takes.Load(); name == "alive" && (first != 0 || n != 1) {
					t.Errorf("program %d has it, after %d takes, want the first one after one", first, n)
				}
			})
		})
	}
}

// silent is a program's backend without messages.
type silent struct {
	lease.Backend
	lease.Poller
	lease.Announcer
	lease.Peeker
}

// Goal: waiters for other objects, which make polls dear, delay a hand-off by a peek's pause and not by that of the polls, and the peeks are few.
// Method: polls that take 100 ms, after which the next one comes a second later, and an object whose holder releases it at times that differ.
func TestDearPollsDelayNoNewcomer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const journey, handOffs = 200 * time.Microsecond, 20
		backend := fakebackend.New()
		var peeks atomic.Int64
		backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			switch call.Operation {
			case fakebackend.Poll:
				return fakebackend.Fault{Before: 100 * time.Millisecond}
			case fakebackend.Others:
				peeks.Add(1)
			}
			return fakebackend.Fault{Before: journey, After: journey}
		}
		open := func(name string) *lease.Leases {
			program := fakebackend.Program{Backend: backend, Name: name}
			return lease.New(silent{program, program, program, program}, lease.Config{})
		}
		holder, waiter := open("holder"), open("waiter")
		defer func() { _, _ = holder.Close(), waiter.Close() }()
		held := mustAcquire(t, holder, applock.AcquireRequest{Object: account(1), MaxHold: 6 * time.Hour})
		go func() { _, _ = waiter.Acquire(t.Context(), anHour(account(1))) }()
		time.Sleep(10 * time.Second)
		began := time.Now()
		for i := range handOffs {
			held := mustAcquire(t, holder, anHour(nightly))
			var released time.Time
			time.AfterFunc(time.Duration(1000+i*77)*time.Millisecond, func() {
				released = time.Now()
				_ = held.Release(context.WithoutCancel(t.Context()))
			})
			lease := mustAcquire(t, waiter, anHour(nightly))
			// A poll that is under way when the object is released does not see that, and the peek comes after it.
			if took := time.Since(released); took > (100+1.2*50+5)*time.Millisecond {
				t.Errorf("hand-off %d took %s", i, took)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if most := int64(time.Since(began)/(40*time.Millisecond)) * 2; peeks.Load() > most {
			t.Errorf("%d peeks in %s, want %d at the most", peeks.Load(), time.Since(began), most)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
