//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// keeping is how long each waiter in line keeps the object at most.
const keeping = 5 * time.Millisecond

// line is many waiters of two clients, like two programs, for one object, until all have had it.
type line struct {
	clients [2]lease.Locker
	waiters int
	// listed returns when all of them wait.
	listed func(ctx context.Context) error
}

// standInLine measures the hand-off with many waiters, on the table and on each backend of a product.
func (b *bench) standInLine(ctx context.Context, p *place) error {
	for _, waiters := range b.lines {
		name := fmt.Sprintf("%d in line", waiters)
		if p.raw != nil {
			open := func() (lease.Locker, func() error, error) {
				o, err := p.open(ctx, access{connections: 2, name: "line"})
				return o.client, o.close, err
			}
			r := race{
				figure: figure{Product: p.product, Name: name + ", two clients"}, others: []rival{{"two commits", telling{p}}},
			}
			l := line{waiters: waiters, listed: func(ctx context.Context) error { return p.untilListed(ctx, waiters, sleep) }}
			if err := b.lineUp(ctx, l, r, open); err != nil {
				return err
			}
		}
		for _, each := range p.backends() {
			byHand, err := each.relay(ctx)
			if err != nil {
				return err
			}
			r := race{
				figure: figure{Product: p.product, Name: name + ", " + each.name, Volatile: true},
				others: []rival{{each.peers[0].name + ", one waits", byHand}},
			}
			// Nothing lists waiters there. A later waiter counts from when it comes.
			l := line{waiters: waiters, listed: func(ctx context.Context) error { return sleep(ctx, 20*settling) }}
			open := func() (lease.Locker, func() error, error) { return each.open(1) }
			if err := b.lineUp(ctx, l, r, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineUp runs lines and others in turns until there are enough samples.
func (b *bench) lineUp(
	ctx context.Context, l line, r race, open func() (lease.Locker, func() error, error),
) (err error) {
	for i := range l.clients {
		client, closeIt, openErr := open()
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closeIt()) }()
		l.clients[i] = client
	}
	for measured := 0; measured < b.handOffs; measured += l.waiters {
		times, err := l.move(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.figure.Name, err)
		}
		var others []time.Duration
		for sample := range min(l.waiters, b.handOffs) {
			took, err := r.others[0].relay.handOver(ctx, sample)
			if err != nil {
				return fmt.Errorf("%s: %w", r.others[0].name, err)
			}
			others = append(others, took)
		}
		f := r.figure
		f.Name, f.Unit, f.Samples, f.Baseline = "hand-off, "+f.Name, "ms", true, r.others[0].name
		b.report.compare(f, milliseconds(times...), milliseconds(others...))
	}
	return nil
}

// move returns how long each hand-off took until every waiter has had the object.
func (l line) move(ctx context.Context) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request := applock.AcquireRequest{Object: applock.Object{Type: "bench", ID: "line"}, MaxHold: time.Minute}
	held, err := l.clients[0].Acquire(ctx, request)
	if err != nil {
		return nil, err
	}
	beginning := time.Now()
	var released atomic.Int64 // the time of the last release
	type turn struct {
		took time.Duration
		err  error
	}
	turns := make(chan turn, l.waiters)
	for i := range l.waiters {
		go func() {
			lease, err := l.clients[i%len(l.clients)].Acquire(ctx, request)
			took := time.Since(beginning) - time.Duration(released.Load())
			if err == nil {
				err = sleep(ctx, rand.N(keeping))
				released.Store(int64(time.Since(beginning)))
				err = errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
			}
			turns <- turn{took, err}
		}()
	}
	if err := l.listed(ctx); err != nil {
		return nil, errors.Join(err, held.Release(context.WithoutCancel(ctx)))
	}
	released.Store(int64(time.Since(beginning)))
	if err := held.Release(ctx); err != nil {
		return nil, err
	}
	var times []time.Duration
	for range l.waiters {
		t := <-turns
		if t.err != nil {
			return nil, t.err
		}
		times = append(times, t.took)
	}
	return times, nil
}
