package locktest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/applock/applock/applock"
)

// Goal: never two at a time. Method: 50 goroutines of five clients count in two steps, which loses counts unless each
// is alone.
func mutualExclusion(t *testing.T, backend Backend) {
	const goroutines, clients, rounds = 50, 5, 4
	place := newPlace(t, backend)
	lockers := []applock.Locker{place.locker}
	for len(lockers) < clients {
		lockers = append(lockers, place.open(t))
	}
	var counter, inside atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for range rounds {
				err := lockers[i%clients].Do(ctx, request(wallet(1)), func(context.Context, *applock.Lease) error {
					if others := inside.Add(1) - 1; others > 0 {
						t.Errorf("%d others are inside", others)
					}
					read := counter.Load()
					runtime.Gosched()
					counter.Store(read + 1)
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if got := counter.Load(); got != goroutines*rounds {
		t.Errorf("counted %d of %d", got, goroutines*rounds)
	}
}

// Goal: who holds one object keeps nobody from another. Method: hold one, take twenty others, release them in any
// order.
func differentObjects(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	first := mustAcquire(t, place.locker, request(wallet(0)))
	var others []*applock.Lease
	for id := 1; id <= 20; id++ {
		others = append(others, mustAcquire(t, place.locker, request(wallet(id))))
	}
	for _, lease := range others {
		mustRelease(t, lease)
	}
	requireHeld(t, place.open(t), wallet(0))
	mustRelease(t, first)
}

// Goal: objects that differ in anything are different ones; trailing blanks do not count, as everywhere. Method: hold
// them all at once; then the same by other spellings.
func keys(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	long := string(make([]rune, 0, applock.MaxObjectIDLength))
	for range applock.MaxObjectIDLength - 1 {
		long += "x"
	}
	objects := []applock.Object{
		{Type: "wallet", ID: "a"},
		{Type: "wallet", ID: "A"},
		{Type: "Wallet", ID: "a"},
		{Type: "wallet", ID: "ä"},
		{Type: "wallet", ID: "a\u0308"},
		{Type: "wallet", ID: "aa"},
		{Type: "wallet", ID: "a a"},
		{Type: "wallet", ID: "a  a"},
		{Type: "wallet", ID: " a"},
		{Type: "wallet", ID: "a:a"},
		{Type: "walle", ID: "ta"},
		{Type: "wallet", ID: "%"},
		{Type: "wallet", ID: "'\"\\"},
		{Type: "wallet", ID: "🔒"},
		{Type: "wallet", ID: long},
		{Type: "wallet", ID: long + "x"},
		{Type: "wallet", ID: long + "y"},
	}
	var leases []*applock.Lease
	for _, object := range objects {
		lease, err := place.locker.TryAcquire(t.Context(), request(object), 0)
		if err != nil {
			t.Fatalf("%q: %v, want it to be free", object, err)
		}
		leases = append(leases, lease)
	}
	other := place.open(t)
	for _, object := range objects {
		requireHeld(t, other, object)
	}
	requireHeld(t, other, applock.Object{Type: "wallet ", ID: "a  "})
	for _, lease := range leases {
		mustRelease(t, lease)
	}
}

// Goal: in one client, those who wait are served in the order of their calls. Method: ten of them, one after the other.
func firstComeFirstServed(t *testing.T, backend Backend) {
	place := newPlace(t, backend)
	first := mustAcquire(t, place.locker, request(wallet(1)))
	var order []int
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := range 10 {
		ready := make(chan struct{})
		group.Go(func() {
			close(ready)
			err := place.locker.Do(t.Context(), request(wallet(1)), func(context.Context, *applock.Lease) error {
				mutex.Lock()
				defer mutex.Unlock()
				order = append(order, i)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-ready
		settled(t)
	}
	mustRelease(t, first)
	group.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("served in the order %v", order)
		}
	}
}
