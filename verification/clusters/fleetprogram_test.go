//go:build linux

package clusters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	fleetType    = "clustered"
	fleetObjects = 6
	// fleetLockTTL is that of locks without a lease.
	fleetLockTTL = 10 * time.Second
	// fleetCall is how long a program waits for one answer.
	fleetCall = 5 * time.Second
	// fleetLook is how long a holder works between two assertions.
	fleetLook = 200 * time.Millisecond
	// fleetHold is for how long a holder wants every other lease: for longer than a failover after a crash takes.
	fleetHold = 30 * time.Second
	// fleetJob is to be a program of a fleet.
	fleetJob = "fleet"
)

// fleetOrders is what a program of a fleet is told.
type fleetOrders struct {
	DSN    string
	Number int
	TTL    time.Duration // of its leases
}

// monotonic is a clock that libfaketime and steps leave alone.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every Linux has it
	return now.Nano() / int64(time.Microsecond/time.Nanosecond)
}

func TestMain(m *testing.M) {
	worker.Main(map[string]func(ctx context.Context, orders []byte) error{fleetJob: runFleetProgram})
	os.Exit(m.Run())
}

// fleetProgram is one of the programs: it takes leases and locks, asserts them, and writes each grant to its output when that has ended.
type fleetProgram struct {
	fleetOrders

	client  *applock.Client
	mutex   sync.Mutex
	journal *json.Encoder
}

// runFleetProgram is the job. It goes on until its input ends.
func runFleetProgram(ctx context.Context, orders []byte) (err error) {
	p := &fleetProgram{journal: json.NewEncoder(os.Stdout)}
	if err := json.Unmarshal(orders, &p.fleetOrders); err != nil {
		return err
	}
	ctx = worker.UntilTold(ctx)
	if p.client, err = open.ByDSN(ctx, p.DSN, open.Config{ConnectTimeout: fleetCall}); err != nil {
		return err
	}
	defer func() { _ = p.client.Close() }()
	var group sync.WaitGroup
	group.Go(func() {
		for turn := 0; ctx.Err() == nil; turn++ {
			p.lease(ctx, turn)
		}
	})
	group.Go(func() {
		for turn := 0; ctx.Err() == nil; turn++ {
			p.lock(ctx, turn)
			worker.Rest(ctx, fleetLook/4)
		}
	})
	group.Wait()
	return nil
}

func (p *fleetProgram) object(turn int) applock.Object {
	return applock.Object{Type: fleetType, ID: fmt.Sprintf("o%d", (p.Number+turn)%fleetObjects)}
}

// granted is the record of a grant that was answered now.
func (p *fleetProgram) granted(key applock.Key, asked int64) *grant {
	now := monotonic()
	return &grant{
		Object: key.Object.ID, Operator: key.Operator, Fence: key.Fence, By: p.Number, Asked: asked, Answered: now,
		Off: time.Now().UnixMicro() - now,
	}
}

func (p *fleetProgram) write(g *grant) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = p.journal.Encode(g) // a parent that has gone ends this program, too
}

// lease takes one, for a moment or for longer than a failover, and stops when it is lost.
func (p *fleetProgram) lease(ctx context.Context, turn int) {
	asked := monotonic()
	lease, err := p.client.Acquire(ctx, applock.AcquireRequest{Object: p.object(turn), MaxHold: time.Minute, TTL: p.TTL, MaxWait: fleetCall})
	if err != nil {
		p.failed(ctx, err)
		return
	}
	g := p.granted(lease.Key(), asked)
	g.IsLease = true
	long := fleetLook
	if turn%2 == 0 {
		long = fleetHold
	}
	for end := time.Now().Add(long); ctx.Err() == nil && time.Now().Before(end); {
		p.assert(lease.Context(), lease.Key(), g)
		if err := lease.Err(); err != nil && g.Told == "" {
			g.Told = err.Error()
		}
		if g.Told != "" {
			break
		}
		worker.Rest(lease.Context(), fleetLook)
	}
	g.Ended = min(monotonic(), monotonic()+time.Until(lease.Deadline()).Microseconds())
	if err := lease.Release(context.WithoutCancel(ctx)); errors.Is(err, applock.ErrLost) && g.Told == "" {
		g.Told = err.Error()
	}
	p.write(g)
}

// assert asks whether the grant is live, and notes what it is told.
func (p *fleetProgram) assert(ctx context.Context, key applock.Key, g *grant) {
	calling, cancel := context.WithTimeout(ctx, fleetCall)
	defer cancel()
	began := monotonic()
	switch err := p.client.Assert(calling, key); {
	case err == nil:
		g.Asserted = append(g.Asserted, began)
	case errors.Is(err, applock.ErrLost):
		g.Told = err.Error()
	}
}

// lock takes a lock of the table for a moment, and repeats its release until that is answered.
func (p *fleetProgram) lock(ctx context.Context, turn int) {
	key := applock.Key{Object: p.object(turn), Operator: fmt.Sprintf("program%d-%d", p.Number, turn)}
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetCall)
	defer cancel()
	asked := monotonic()
	got, err := p.client.Get(calling, applock.GetRequest{Object: key.Object, Owner: applock.Owner{Operator: key.Operator}, TTL: fleetLockTTL})
	if err != nil {
		if !errors.Is(err, applock.ErrHeld) {
			p.failed(ctx, err)
			_ = p.release(ctx, key) // it may have been granted
		}
		return
	}
	key.Fence = got.Fence
	g := p.granted(key, asked)
	p.assert(calling, key, g)
	worker.Rest(ctx, fleetLook)
	g.Ended = min(monotonic(), asked+fleetLockTTL.Microseconds())
	if err := p.release(ctx, key); err != nil && g.Told == "" {
		g.Told = err.Error()
	}
	p.write(g)
}

// release repeats itself until it is answered, and returns the loss. A program that ends gives up.
func (p *fleetProgram) release(ctx context.Context, key applock.Key) error {
	for {
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetCall)
		_, err := p.client.Release(calling, applock.ReleaseRequest{Key: key})
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, applock.ErrHeld), errors.Is(err, applock.ErrLost):
			return err
		case ctx.Err() != nil:
			return nil
		}
		p.failed(ctx, err)
	}
}

// failed pauses after a call that was not answered as it should.
func (p *fleetProgram) failed(ctx context.Context, err error) {
	if !errors.Is(err, applock.ErrHeld) && ctx.Err() == nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	worker.Rest(ctx, fleetLook)
}
