//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/inprocess"
)

const (
	// maxHolding is how long the object is held at most once a waiter is known. The time is random, so that a release meets a poller at any
	// point of its interval.
	maxHolding = 25 * time.Millisecond
	// settling is how long a waiter that nothing shows needs to begin its wait.
	settling = 5 * time.Millisecond
	// askingByHand is the pause of a loop that polls.
	askingByHand = 10 * time.Millisecond
)

// relay hands one object over, and returns the time from the call of the release to the return of the waiter.
type relay interface {
	handOver(ctx context.Context, sample int) (time.Duration, error)
}

// race is a relay of ours, and those of others.
type race struct {
	figure  figure // everything but the values
	samples int
	ours    relay
	others  []rival
}

type rival struct {
	name  string
	relay relay
}

// handOff measures the hand-off to a single waiter, on each backend of a product.
func (b *bench) handOff(ctx context.Context, p *place) error {
	if p.raw != nil {
		if err := b.handOffOnTable(ctx, p); err != nil {
			return err
		}
	}
	if p.product == productSQLite { // it stands for the machine itself
		if err := b.handOffInMemory(ctx); err != nil {
			return err
		}
	}
	for _, each := range p.backends() {
		if err := b.handOffOn(ctx, p, each); err != nil {
			return err
		}
	}
	return nil
}

// handOffOnTable measures it within one client, and between two, like two programs.
func (b *bench) handOffOnTable(ctx context.Context, p *place) error {
	holder, err := p.open(ctx, access{connections: 2, name: "holder"})
	if err != nil {
		return err
	}
	defer func() { _ = holder.close() }() // the measurement is over
	waiter, err := p.open(ctx, access{connections: 2, name: "waiter"})
	if err != nil {
		return err
	}
	defer func() { _ = waiter.close() }()
	watch := watchBy(holder.client)
	twoCommits := rival{"two commits", telling{p}}
	err = b.relays(ctx, race{
		figure: figure{Product: p.product, Name: "hand-off, one client"}, samples: b.handOffs,
		ours: &leases{holder: waiter.client, waiter: waiter.client, watch: watch}, others: []rival{twoCommits},
	})
	if err != nil {
		return err
	}
	between := race{
		figure: figure{Product: p.product, Name: "hand-off, two clients, polling"}, samples: b.handOffs,
		ours:   &leases{holder: holder.client, waiter: waiter.client, watch: watch},
		others: []rival{{"loop of 10 ms", asking{p}}},
	}
	if p.product != productPostgres {
		return b.relays(ctx, between)
	}
	byHand, err := p.notifying(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = byHand.conn.Close(context.WithoutCancel(ctx)) }() // no statement is under way
	err = b.relays(ctx, race{
		figure: figure{Product: p.product, Name: "hand-off, two clients"}, samples: b.notified,
		ours: between.ours, others: []rival{twoCommits, {"NOTIFY", byHand}},
	})
	if err != nil {
		return err
	}
	deaf, err := p.open(ctx, access{connections: 2, name: "deaf", deaf: true})
	if err != nil {
		return err
	}
	defer func() { _ = deaf.close() }()
	between.ours = &leases{holder: holder.client, waiter: deaf.client, watch: watch}
	return b.relays(ctx, between)
}

// handOffOn measures it between two programs on another backend.
func (b *bench) handOffOn(ctx context.Context, p *place, each backend) error {
	holder, closeHolder, err := each.open(1)
	if err != nil {
		return err
	}
	defer func() { _ = closeHolder() }() // the measurement is over
	waiter, closeWaiter, err := each.open(1)
	if err != nil {
		return err
	}
	defer func() { _ = closeWaiter() }()
	byHand, err := each.relay(ctx)
	if err != nil {
		return err
	}
	return b.relays(ctx, race{
		figure:  figure{Product: p.product, Name: "hand-off, " + each.name, Volatile: true},
		samples: b.handOffs, ours: &leases{holder: holder, waiter: waiter}, others: []rival{{each.peers[0].name, byHand}},
	})
}

func (b *bench) handOffInMemory(ctx context.Context) error {
	memory := inprocess.New()
	defer func() { _ = memory.Close() }() // there are no waiters any more
	return b.relays(ctx, race{
		figure: figure{Product: "inprocess", Name: "hand-off, one client", Volatile: true}, samples: b.handOffs,
		ours: &leases{holder: memory, waiter: memory}, others: []rival{{"channel", channel{}}},
	})
}

// relays runs all relays in turns.
func (b *bench) relays(ctx context.Context, r race) error {
	var ours []time.Duration
	others := make([][]time.Duration, len(r.others))
	for sample := range r.samples {
		took, err := r.ours.handOver(ctx, sample)
		if err != nil {
			return fmt.Errorf("%s: %w", r.figure.Name, err)
		}
		ours = append(ours, took)
		for i, other := range r.others {
			took, err := other.relay.handOver(ctx, sample)
			if err != nil {
				return fmt.Errorf("%s by %s: %w", r.figure.Name, other.name, err)
			}
			others[i] = append(others[i], took)
		}
	}
	for i, other := range r.others {
		line := r.figure
		line.Unit, line.Baseline, line.Samples = "ms", other.name, true
		b.report.compare(line, milliseconds(ours...), milliseconds(others[i]...))
	}
	return nil
}

// leases is a relay by leases of two clients, or of one.
type leases struct {
	holder, waiter lease.Locker
	// watch returns when a waiter of that department is listed; nil where nothing lists waiters.
	watch func(ctx context.Context, object applock.Object, department string) error
}

type taken struct {
	err error
	at  time.Time
}

func (l *leases) handOver(ctx context.Context, sample int) (time.Duration, error) {
	request := applock.AcquireRequest{Object: applock.Object{Type: "bench", ID: "baton"}, MaxHold: time.Minute}
	held, err := l.holder.Acquire(ctx, request)
	if err != nil {
		return 0, err
	}
	department := ""
	if l.watch != nil {
		department = strconv.Itoa(sample)
		request.Owner.Department = department
	}
	next := make(chan taken, 1)
	go func() {
		lease, err := l.waiter.Acquire(ctx, request)
		answer := taken{err: err, at: time.Now()}
		if err == nil {
			answer.err = lease.Release(ctx)
		}
		next <- answer
	}()
	if l.watch != nil {
		err = l.watch(ctx, request.Object, department)
	} else {
		err = sleep(ctx, settling)
	}
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, rand.N(maxHolding)); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := held.Release(ctx); err != nil {
		return 0, err
	}
	answer := <-next
	return answer.at.Sub(began), answer.err
}

// watchBy returns a function that waits until a waiter is listed.
func watchBy(observer *applock.Client) func(context.Context, applock.Object, string) error {
	return func(ctx context.Context, object applock.Object, department string) error {
		request := applock.WaitersRequest{ObjectType: object.Type, ObjectID: object.ID, Department: department}
		for {
			for _, err := range observer.Waiters(ctx, request) {
				return err
			}
			if err := sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// handOverByHand runs a waiter, gives it time to wait, and releases.
func handOverByHand(ctx context.Context, wait, release func(context.Context) error) (time.Duration, error) {
	next := make(chan taken, 1)
	go func() {
		err := wait(ctx)
		next <- taken{err: err, at: time.Now()}
	}()
	if err := sleep(ctx, settling+rand.N(maxHolding)); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := release(ctx); err != nil {
		return 0, err
	}
	answer := <-next
	return answer.at.Sub(began), answer.err
}

// notifying releases by an UPDATE and a NOTIFY in one transaction. The waiter listens, and takes by an UPDATE.
type notifying struct {
	place *place
	conn  *pgx.Conn
}

func (p *place) notifying(ctx context.Context) (notifying, error) {
	conn, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		return notifying{}, err
	}
	_, err = conn.Exec(ctx, "LISTEN bench_row")
	return notifying{place: p, conn: conn}, err
}

func (n notifying) handOver(ctx context.Context, _ int) (time.Duration, error) {
	return handOverByHand(ctx, func(ctx context.Context) error {
		if _, err := n.conn.WaitForNotification(ctx); err != nil {
			return err
		}
		return n.place.raw.exec(ctx, n.place.statements.take)
	}, func(ctx context.Context) error {
		return n.place.raw.exec(ctx, "WITH freed AS ("+n.place.statements.free+") SELECT pg_notify('bench_row', '1')")
	})
}

// asking is a loop that polls until the row is free, and takes it by an UPDATE.
type asking struct{ place *place }

func (a asking) handOver(ctx context.Context, _ int) (time.Duration, error) {
	statements := a.place.statements
	if err := a.place.raw.exec(ctx, statements.take); err != nil {
		return 0, err
	}
	return handOverByHand(ctx, func(ctx context.Context) error {
		for free := false; !free; {
			if err := a.place.raw.row(ctx, statements.isFree, nil, &free); err != nil {
				return err
			}
			if !free {
				if err := sleep(ctx, askingByHand); err != nil {
					return err
				}
			}
		}
		return a.place.raw.exec(ctx, statements.take)
	}, func(ctx context.Context) error { return a.place.raw.exec(ctx, statements.free) })
}

// telling is a release and a take one after the other, with a message in between.
type telling struct{ place *place }

func (t telling) handOver(ctx context.Context, _ int) (time.Duration, error) {
	released := make(chan struct{})
	return handOverByHand(ctx, func(ctx context.Context) error {
		<-released
		return t.place.raw.exec(ctx, t.place.statements.take)
	}, func(ctx context.Context) error {
		defer close(released)
		return t.place.raw.exec(ctx, t.place.statements.free)
	})
}

// queueing makes the server let a session wait for another one.
type queueing struct {
	holder, waiter executor
	lock, unlock   string
}

func (p *place) queueing(ctx context.Context, lock, unlock string) (queueing, error) {
	q := queueing{lock: lock, unlock: unlock}
	for _, each := range []*executor{&q.holder, &q.waiter} {
		o, err := p.open(ctx, access{connections: 1, name: "queueing"})
		if err != nil {
			return q, err
		}
		p.closers = append(p.closers, o.close)
		*each = o.raw
	}
	return q, nil
}

func (q queueing) handOver(ctx context.Context, _ int) (time.Duration, error) {
	if err := q.holder.exec(ctx, q.lock); err != nil {
		return 0, err
	}
	took, err := handOverByHand(ctx,
		func(ctx context.Context) error { return q.waiter.exec(ctx, q.lock) },
		func(ctx context.Context) error { return q.holder.exec(ctx, q.unlock) })
	return took, errors.Join(err, q.waiter.exec(ctx, q.unlock))
}

// channel is a message from one goroutine to another.
type channel struct{}

func (channel) handOver(ctx context.Context, _ int) (time.Duration, error) {
	released := make(chan struct{})
	return handOverByHand(ctx,
		func(context.Context) error { <-released; return nil },
		func(context.Context) error { close(released); return nil })
}
