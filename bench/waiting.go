//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

const megabyte = 1 << 20

// waitForMany makes one client wait for many objects that are held.
func (b *bench) waitForMany(ctx context.Context, p *place) error {
	objects, idle, name := b.waiters, b.idle, fmt.Sprintf("%d wait, an object each", b.waiters)
	if err := p.raw.exec(ctx, p.statements.hold, 0, 1, objects); err != nil {
		return err
	}
	c := crowd{failures: make(chan error, b.waiters)}
	waiting, err := p.open(ctx, access{connections: 1, name: "waiting", logger: slog.New(&c.sent)})
	if err != nil {
		return err
	}
	defer func() { _ = waiting.close() }() // it retracts all waiters within 5 s
	before, err := p.connected(ctx)
	if err != nil {
		return err
	}
	empty := memory()
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.client = waiting.client
	c.gather(ctx, b.waiters, objects)
	if err := c.untilListed(ctx, p, b.waiters); err != nil {
		return err
	}
	gathered := time.Since(began)
	if err := sleep(ctx, idle/10); err != nil { // until the last of them are polled for
		return err
	}
	now, err := p.connected(ctx)
	if err != nil {
		return err
	}
	full := memory()
	idling, err := c.watch(ctx, idle, p.pid)
	if err != nil {
		return err
	}
	polls, pings, err := b.poll(ctx, p, waiting.driver)
	if err != nil {
		return err
	}
	note := func(what, unit string, value float64) {
		b.report.note(figure{Product: p.product, Name: name + ": " + what, Unit: unit}, value)
	}
	note("until all do", "s", gathered.Seconds())
	if p.product != productSQLite {
		note("connections", "", float64(now-before))
	}
	note("heap and stacks", "MB", float64(int64(full)-int64(empty))/megabyte)
	note("statements", "/s", idling.statements)
	note("processor, client", "%", idling.here)
	if p.pid != 0 {
		note("processor, server", "%", idling.there)
	}
	b.report.compare(
		figure{Product: p.product, Name: name + ": a poll", Unit: "ms", Samples: true, Baseline: "a ping"}, polls, pings)
	return nil
}

// poll returns how long polls for all waiters take, and pings.
func (b *bench) poll(ctx context.Context, p *place, driver db.Driver) (polls, pings []float64, err error) {
	params := db.PollApplLocksParams{MaxRows: 100}
	if err := p.raw.row(ctx, p.statements.waiting, nil, &params.ClientID); err != nil {
		return nil, nil, err
	}
	for range b.polls {
		began := time.Now()
		if _, err := driver.PollApplLocks(ctx, params); err != nil {
			return nil, nil, err
		}
		polled := time.Now()
		if err := p.raw.exec(ctx, "SELECT 1"); err != nil {
			return nil, nil, err
		}
		polls, pings = append(polls, milliseconds(polled.Sub(began))...), append(pings, milliseconds(time.Since(polled))...)
	}
	return polls, pings, nil
}

// crowd is the goroutines that wait.
type crowd struct {
	client   *applock.Client
	sent     counter
	failures chan error
}

// idling is the load while nothing changes.
type idling struct {
	here, there float64 // used by this process and by the server, in percent of a core
	statements  float64 // per second
}

func (c *crowd) gather(ctx context.Context, waiters, objects int) {
	for i := range waiters {
		go c.waitFor(ctx, i%objects)
	}
}

// waitFor adds little to the stack of a waiter.
func (c *crowd) waitFor(ctx context.Context, object int) {
	_, err := c.client.Acquire(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "bench", ID: strconv.Itoa(object)},
		MaxHold: time.Minute,
	})
	c.left(ctx, err)
}

func (c *crowd) left(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("it has the object")
	}
	c.failures <- fmt.Errorf("somebody stopped waiting: %w", err)
}

// untilListed returns when the database lists all waiters.
func (c *crowd) untilListed(ctx context.Context, p *place, waiters int) error {
	return p.untilListed(ctx, waiters, c.sleep)
}

// untilListed waits with sleep, whose error ends the wait.
func (p *place) untilListed(ctx context.Context, waiters int, sleep func(context.Context, time.Duration) error) error {
	for listed := 0; listed < waiters; {
		if err := p.raw.row(ctx, p.statements.waiters, nil, &listed); err != nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// watch measures the load for a while.
func (c *crowd) watch(ctx context.Context, pause time.Duration, pid int) (idling, error) {
	thereBefore, sentBefore, began := usedBy(pid), c.sent.Load(), time.Now() // usedBy takes some time at first
	hereBefore, err := usedHere()
	if err != nil {
		return idling{}, err
	}
	if err := c.sleep(ctx, pause); err != nil {
		return idling{}, err
	}
	hereAfter, err := usedHere()
	sent, took := c.sent.Load()-sentBefore, time.Since(began).Seconds()
	return idling{
		here:       100 * (hereAfter - hereBefore).Seconds() / took,
		there:      100 * (usedBy(pid) - thereBefore).Seconds() / took,
		statements: float64(sent) / took,
	}, err
}

// sleep ends early when a goroutine stops waiting.
func (c *crowd) sleep(ctx context.Context, pause time.Duration) error {
	select {
	case err := <-c.failures:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// memory is the size of the heap and the stacks after a garbage collection that includes finalizers and pools.
func memory() uint64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

// connected counts the connections to the place on the server. SQLite has none.
func (p *place) connected(ctx context.Context) (int, error) {
	if p.statements.connections == "" {
		return 0, nil
	}
	var count int
	err := p.raw.row(ctx, p.statements.connections, nil, &count)
	return count, err
}
