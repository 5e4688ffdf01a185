//go:build linux

package clusters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
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
	// fleetVariable has the test's program be one of a fleet: its value is the orders, as JSON.
	fleetVariable = "APPLOCK_TEST_FLEET"
)

// fleetOrders is what a program of a fleet is told.
type fleetOrders struct {
	DSN    string
	Number int
	TTL    time.Duration // of its leases
}

// fleetGrant is a grant as its holder has seen it. Times are microseconds of the machine's monotonic clock, which all programs share.
type fleetGrant struct {
	Object   string        `json:"object"`
	Operator string        `json:"operator"`
	Fence    applock.Fence `json:"fence"`
	IsLease  bool          `json:"is_lease"`
	Program  int           `json:"program"`
	// Off is by how many microseconds the program's clock is before the monotonic one.
	Off      int64 `json:"off"`
	Asked    int64 `json:"asked"`
	Answered int64 `json:"answered"`
	// Ended is when the holder gave it back, was told of its loss, or could trust it no longer by its own count.
	Ended int64 `json:"ended"`
	// Told is what the holder was told of its loss.
	Told string `json:"told,omitempty"`
	// Asserted is when those assertions began that were answered by yes.
	Asserted []int64 `json:"asserted,omitempty"`
}

// monotonic is a clock that libfaketime and steps leave alone.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every Linux has it
	return now.Nano() / int64(time.Microsecond/time.Nanosecond)
}

func TestMain(m *testing.M) {
	orders := os.Getenv(fleetVariable)
	if orders == "" {
		os.Exit(m.Run())
	}
	if err := runFleetProgram(orders); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fleetProgram is one of the programs: it takes leases and locks, asserts them, and writes each grant to its output when that has ended.
type fleetProgram struct {
	fleetOrders

	client  *applock.Client
	mutex   sync.Mutex
	journal *json.Encoder
}

// runFleetProgram goes on until its input ends.
func runFleetProgram(text string) error {
	p := &fleetProgram{journal: json.NewEncoder(os.Stdout)}
	if err := json.Unmarshal([]byte(text), &p.fleetOrders); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var err error
	if p.client, err = open.ByDSN(ctx, p.DSN, open.Config{ConnectTimeout: fleetCall}); err != nil {
		return err
	}
	defer func() { _ = p.client.Close() }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var group sync.WaitGroup
	group.Go(func() {
		for turn := 0; ctx.Err() == nil; turn++ {
			p.lease(ctx, turn)
		}
	})
	group.Go(func() {
		for turn := 0; ctx.Err() == nil; turn++ {
			p.lock(ctx, turn)
			pgPause(ctx, fleetLook/4)
		}
	})
	group.Wait()
	return nil
}

func (p *fleetProgram) object(turn int) applock.Object {
	return applock.Object{Type: fleetType, ID: fmt.Sprintf("o%d", (p.Number+turn)%fleetObjects)}
}

// granted is the record of a grant that was answered now.
func (p *fleetProgram) granted(key applock.Key, asked int64) *fleetGrant {
	now := monotonic()
	return &fleetGrant{
		Object: key.Object.ID, Operator: key.Operator, Fence: key.Fence, Program: p.Number, Asked: asked, Answered: now,
		Off: time.Now().UnixMicro() - now,
	}
}

func (p *fleetProgram) write(g *fleetGrant) {
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
		pgPause(lease.Context(), fleetLook)
	}
	g.Ended = min(monotonic(), monotonic()+time.Until(lease.Deadline()).Microseconds())
	if err := lease.Release(context.WithoutCancel(ctx)); errors.Is(err, applock.ErrLost) && g.Told == "" {
		g.Told = err.Error()
	}
	p.write(g)
}

// assert asks whether the grant is live, and notes what it is told.
func (p *fleetProgram) assert(ctx context.Context, key applock.Key, g *fleetGrant) {
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
	grant, err := p.client.Get(calling, applock.GetRequest{Object: key.Object, Owner: applock.Owner{Operator: key.Operator}, TTL: fleetLockTTL})
	if err != nil {
		if !errors.Is(err, applock.ErrHeld) {
			p.failed(ctx, err)
			_ = p.release(ctx, key) // it may have been granted
		}
		return
	}
	key.Fence = grant.Fence
	g := p.granted(key, asked)
	p.assert(calling, key, g)
	pgPause(ctx, fleetLook)
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
	pgPause(ctx, fleetLook)
}
