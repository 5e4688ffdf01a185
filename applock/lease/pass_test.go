package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

const passWay = 10 * time.Millisecond

// playPass runs a test with one program, each of whose calls takes 20 ms, and has the fault of the first pass.
func playPass(t *testing.T, first fakebackend.Fault, test func(t *testing.T, p program)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		backend := fakebackend.New()
		backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			fault := fakebackend.Fault{}
			if call.Operation == fakebackend.Pass && call.Number == 1 {
				fault = first
			}
			fault.Before, fault.After = max(fault.Before, passWay), passWay
			return fault
		}
		leases := lease.New(fakebackend.Program{Backend: backend}, lease.Config{})
		test(t, program{Leases: leases, backend: backend})
		if err := leases.Close(); err != nil {
			t.Error(err)
		}
		if held := backend.Held(); len(held) > 0 {
			t.Errorf("%v are held in the end", held)
		}
	})
}

// requireCalls requires that many calls of each operation.
func requireCalls(t *testing.T, backend *fakebackend.Backend, want map[string]int) {
	t.Helper()
	for operation, calls := range want {
		if n := backend.Calls(operation); n != calls {
			t.Errorf("%d calls of %s, want %d", n, operation, calls)
		}
	}
}

// Goal: each turn of those who wait in one program begins by one call, with a greater fence, in their order, and only the first of them is
// announced. Method: a holder, and ten who come while it holds.
func TestTurnsArePassedOn(t *testing.T) {
	t.Parallel()
	const waiters = 10
	playPass(t, fakebackend.Fault{}, func(t *testing.T, p program) {
		holder := p.acquire(t, anHour(nightly))
		var group sync.WaitGroup
		last := holder.Fence()
		for range waiters {
			group.Go(func() {
				lease := p.acquire(t, anHour(nightly))
				if lease.Fence() <= last {
					t.Errorf("fence %d after %d", lease.Fence(), last)
				}
				last = lease.Fence()
				release(t, lease)
			})
			time.Sleep(passWay)
		}
		release(t, holder)
		group.Wait()
		requireCalls(t, p.backend, map[string]int{fakebackend.Get: 1, fakebackend.Pass: waiters, fakebackend.Release: 1, fakebackend.Announce: 1})
	})
}

// Goal: of those who wait for long the first ones are listed, and those who come after them once they have left. Method: many behind a holder,
// of whom some give up.
func TestTheFirstWaitersAreListed(t *testing.T) {
	t.Parallel()
	playPass(t, fakebackend.Fault{}, func(t *testing.T, p program) {
		holder := p.acquire(t, anHour(nightly))
		impatient, giveUp := context.WithCancel(t.Context())
		for range 5 {
			go func() { _, _ = p.Acquire(impatient, anHour(nightly)) }()
		}
		time.Sleep(time.Millisecond)
		for range 20 {
			go func() { release(t, p.acquire(t, anHour(nightly))) }()
		}
		requireListed := func(want int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if n := p.backend.Waiting(); n != want {
				t.Errorf("%d are listed, want %d", n, want)
			}
		}
		requireListed(8)
		giveUp()
		requireListed(8)
		release(t, holder)
		time.Sleep(time.Minute)
		requireListed(0)
	})
}

// Goal: an object that is passed on to a waiter that has given up goes to the next waiter, and the first one does not get it. Method: its
// context ends while the pass is under way.
func TestWhoHasGoneIsPassedOver(t *testing.T) {
	t.Parallel()
	playPass(t, fakebackend.Fault{}, func(t *testing.T, p program) {
		holder := p.acquire(t, anHour(nightly))
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := p.Acquire(ctx, anHour(nightly))
			gone <- err
		}()
		time.Sleep(passWay)
		served := make(chan applock.Lease, 1)
		go func() { served <- p.acquire(t, anHour(nightly)) }()
		time.Sleep(passWay)
		time.AfterFunc(passWay, cancel)
		release(t, holder)
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("acquire: %v, want that it was cancelled", err)
		}
		release(t, <-served)
		requireCalls(t, p.backend, map[string]int{fakebackend.Get: 1, fakebackend.Pass: 2, fakebackend.Release: 1})
	})
}

// Goal: who releases does not wait until a lease is released that a waiter could not get any more. Method: Close begins while a pass is under
// way, and releases take three seconds.
func TestPassToAClosedProgram(t *testing.T) {
	t.Parallel()
	playPass(t, fakebackend.Fault{}, func(t *testing.T, p program) {
		p.backend.ChangeFault(func(former fakebackend.Faults) fakebackend.Faults {
			return func(ctx context.Context, call fakebackend.Call) fakebackend.Fault {
				if call.Operation == fakebackend.Release {
					return fakebackend.Fault{Before: 3 * time.Second}
				}
				return former(ctx, call)
			}
		})
		holder := p.acquire(t, anHour(nightly))
		told := make(chan error, 1)
		go func() {
			_, err := p.Acquire(t.Context(), anHour(nightly))
			told <- err
		}()
		time.Sleep(passWay)
		closed := make(chan error, 1)
		time.AfterFunc(passWay, func() { closed <- p.Close() })
		began := time.Now()
		release(t, holder)
		if took := time.Since(began); took != 2*passWay {
			t.Errorf("the release took %s, want those %s of the pass", took, 2*passWay)
		}
		if err := <-told; !errors.Is(err, applock.ErrClosed) {
			t.Errorf("acquire: %v, want ErrClosed", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// Goal: after a pass without an answer both grants are released, also where it arrives late, and the waiter has the object by another name.
// Method: the answer is lost, the connection breaks while the call is on its way, or the backend is silent for longer than a release may take.
func TestAPassWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakebackend.Fault{
		"Lost": {Lose: true}, "Late": {Stray: 15 * time.Millisecond}, "Silent": {Before: time.Hour, Ghost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playPass(t, fault, func(t *testing.T, p program) {
				holder := p.acquire(t, anHour(nightly))
				served := make(chan applock.Lease, 1)
				go func() {
					lease, _ := p.Acquire(t.Context(), within(10*time.Second))
					served <- lease
				}()
				time.Sleep(passWay)
				release(t, holder)
				lease := <-served
				if lease == nil {
					t.Fatal("the waiter has not been served")
				}
				time.Sleep(time.Minute) // all repeated releases
				if err := lease.Renew(t.Context()); err != nil {
					t.Errorf("the waiter's lease: %v", err)
				}
				release(t, lease)
			})
		})
	}
}

// Goal: where a backend refuses to pass on, it is asked once, and objects are released and taken. Method: three turns without the right, with an
// older schema, and on a backend that cannot.
func TestRefusedPassIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{applock.ErrPrivilege, applock.ErrSchema, errors.ErrUnsupported} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			playPass(t, fakebackend.Fault{Refuse: refusal}, func(t *testing.T, p program) {
				holder := p.acquire(t, anHour(nightly))
				var group sync.WaitGroup
				for range 2 {
					group.Go(func() { release(t, p.acquire(t, anHour(nightly))) })
				}
				time.Sleep(passWay)
				release(t, holder)
				group.Wait()
				requireCalls(t, p.backend, map[string]int{fakebackend.Get: 3, fakebackend.Pass: 1, fakebackend.Release: 3})
			})
		})
	}
}
