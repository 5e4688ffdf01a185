package etcdlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/wire"
)

const (
	// callsVariable is how many takes arrive late, shortLate and longLate how late they do in a short run and in a long one, and lateCallers how
	// many of them are under way at a time.
	callsVariable       = "APPLOCK_SOAK_CALLS"
	shortCalls          = 8
	shortLate, longLate = 300 * time.Millisecond, 5 * time.Second
	lateCallers         = 32
)

// Goal: a take that arrives after its release keeps nobody from the object until it expires. Method: takes through a wire that cuts off who
// sends the transaction that takes, and delivers it 20 ms to 5 s later. Then another program takes each object. Here two things
// see to it: the lease of etcd that a take without an answer was to be attached to is revoked, and the release by name is repeated.
func TestLateTakes(t *testing.T) {
	t.Parallel()
	calls, late := shortCalls, shortLate
	if text := os.Getenv(callsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		calls, late = n, longLate
	}
	cluster := newCluster(t)
	w := wire.New(t, cluster.endpoints()[0])
	var takes atomic.Int64
	w.Strand(func(piece []byte) (time.Duration, bool) {
		if !bytes.Contains(piece, []byte(`"operator_id"`)) {
			return 0, false
		}
		const least, steps, oneIn = 20 * time.Millisecond, 10, 4
		nth := takes.Add(1) - 1
		share := float64(nth/oneIn%steps) / (steps - 1)
		return time.Duration(float64(least) * math.Pow(float64(late)/float64(least), share)), nth%oneIn == 0 // more of the short ones
	})
	var unknown, granted atomic.Int64
	cut := func() *lease.Leases { return leasesOn(t, connect(t, w.Address)) }
	eachLate(calls, cut, func(leases *lease.Leases, id int64) {
		lease, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: customer(fmt.Sprint(id)), MaxHold: time.Hour})
		switch {
		case err == nil:
			granted.Add(1)
			_ = lease.Release(t.Context()) // it is repeated, and found in the end if in vain
		case errors.Is(err, applock.ErrOutcomeUnknown):
			unknown.Add(1)
		}
	})
	w.Strand(nil)
	cluster.await(t, "an answer to all that arrived late", func(context.Context) bool { return w.Landed.Load() == w.Stranded.Load() })
	began := time.Now()
	whole := func() *lease.Leases { return leasesOn(t, connect(t, cluster.endpoints()[1])) }
	eachLate(calls, whole, func(others *lease.Leases, id int64) {
		request := applock.AcquireRequest{Object: customer(fmt.Sprint(id)), MaxHold: time.Hour, MaxWait: time.Minute}
		lease, err := others.Acquire(t.Context(), request)
		if err != nil {
			t.Errorf("object %d: %v", id, err)
			return
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("object %d: release: %v", id, err)
		}
	})
	if w.Stranded.Load() == 0 {
		t.Error("no take has arrived late: this test shows nothing")
	}
	t.Logf("%d calls: %d granted, %d unknown; %d pieces arrived late; all objects were to be had within %s",
		calls, granted.Load(), unknown.Load(), w.Stranded.Load(), time.Since(began).Round(time.Millisecond))
}

// eachLate makes calls, some at a time, each of those by a connection of its own: to cut one off breaks no other call.
func eachLate(calls int, open func() *lease.Leases, call func(leases *lease.Leases, id int64)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(lateCallers, calls) {
		leases := open()
		group.Go(func() {
			for id := next.Add(1); id <= int64(calls); id = next.Add(1) {
				call(leases, id)
			}
		})
	}
	group.Wait()
}
