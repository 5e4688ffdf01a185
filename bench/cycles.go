//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// peer takes and releases the object of a name.
type peer struct {
	name  string
	cycle func(ctx context.Context, object string) error
}

// apart gives each goroutine its own object, and returns a contender.
func (p peer) apart() contender {
	return contender{name: p.name, once: func(ctx context.Context, goroutine int) error { return p.cycle(ctx, strconv.Itoa(goroutine)) }}
}

func (p peer) together() contender {
	return contender{name: p.name, once: func(ctx context.Context, _ int) error { return p.cycle(ctx, "hot") }}
}

func apart(peers []peer) []contender {
	contenders := make([]contender, len(peers))
	for i, each := range peers {
		contenders[i] = each.apart()
	}
	return contenders
}

// cycles compares the rate of takes and releases, on the table and on each backend of a product.
func (b *bench) cycles(ctx context.Context, p *place) error {
	for _, connections := range b.connections {
		if p.product == productSQLite && connections > poolSize {
			continue // a file has one writer: so many connections only wait for each other
		}
		name := fmt.Sprintf("cycles, %d connections: ", connections)
		if connections == 1 {
			name = "cycles, 1 connection: "
		}
		if p.raw != nil {
			if err := b.cyclesOnTable(ctx, p, figure{Product: p.product, Name: name}, connections); err != nil {
				return err
			}
		}
		for _, each := range p.backends() {
			if err := b.cyclesOn(ctx, each, figure{Product: p.product, Name: name, Volatile: true}, connections); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) cyclesOnTable(ctx context.Context, p *place, f figure, connections int) error {
	peers, err := p.peers(ctx, connections)
	if err != nil {
		return err
	}
	o, err := p.open(ctx, access{connections: connections, name: "cycles"})
	if err != nil {
		return err
	}
	ours := []peer{getAndRelease(o.client), acquireAndRelease("a lease", o.client)}
	if p.statements.least != nil {
		least := p.least(o.raw)
		for goroutine := range connections {
			err = errors.Join(err, getAndReleaseOf(ctx, o.client, applock.Object{Type: least.name, ID: strconv.Itoa(goroutine)}))
		}
		ours = append(ours, least)
	}
	return errors.Join(err, b.pit(ctx, f, connections, apart(ours), apart(peers)), o.close())
}

// least is the least that any lock kept by procedures needs: one UPDATE of its row for each of take and release. The row must exist.
func (p *place) least(by executor) peer {
	return peer{oneUpdateName, func(ctx context.Context, id string) error {
		if err := by.exec(ctx, p.statements.leastTake, oneUpdateName, id); err != nil {
			return err
		}
		return by.exec(ctx, p.statements.leastGive, oneUpdateName, id)
	}}
}

func (b *bench) cyclesOn(ctx context.Context, each backend, f figure, connections int) error {
	leases, closeIt, err := each.open(connections)
	if err != nil {
		return err
	}
	return errors.Join(
		b.pit(ctx, f, connections, []contender{acquireAndRelease(each.name, leases).apart()}, apart(each.peers)), closeIt())
}

func getAndRelease(client *applock.Client) peer {
	return peer{"get and release", func(ctx context.Context, id string) error {
		return getAndReleaseOf(ctx, client, applock.Object{Type: "cycle", ID: id})
	}}
}

func getAndReleaseOf(ctx context.Context, client *applock.Client, object applock.Object) error {
	grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: jdoe}})
	if err != nil {
		return err
	}
	_, err = client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: jdoe, Fence: grant.Fence}})
	return err
}

func acquireAndRelease(name string, locker lease.Locker) peer {
	return peer{name, func(ctx context.Context, id string) error {
		object := applock.Object{Type: "lease", ID: id}
		lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute})
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}}
}

// programs is how many clients share a hot object, and goroutines how many they have in all.
const (
	programs   = 4
	goroutines = 64
)

// hotObject measures one object that 64 goroutines of four clients, like four programs, want all the time.
func (b *bench) hotObject(ctx context.Context, p *place) error {
	f := figure{Product: p.product, Name: "a hot object, 64 who want it: "}
	if p.raw != nil {
		update := contender{name: "update of one row", once: func(ctx context.Context, _ int) error { return p.raw.exec(ctx, p.statements.update, 1) }}
		open := func() (lease.Locker, func() error, error) {
			o, err := p.open(ctx, access{connections: 2, name: "hot"})
			return o.client, o.close, err
		}
		if err := b.hotOn(ctx, f, "leases", open, []contender{update}); err != nil {
			return err
		}
	}
	f.Volatile = true
	for _, each := range p.backends() {
		others := make([]contender, len(each.peers))
		for i, other := range each.peers {
			others[i] = other.together()
		}
		open := func() (lease.Locker, func() error, error) { return each.open(1) }
		if err := b.hotOn(ctx, f, each.name, open, others); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) hotOn(
	ctx context.Context, f figure, name string, open func() (lease.Locker, func() error, error), others []contender,
) (err error) {
	var clients []peer
	for range programs {
		locker, closeIt, openErr := open()
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closeIt()) }()
		clients = append(clients, acquireAndRelease(name, locker))
	}
	ours := contender{name: name, once: func(ctx context.Context, goroutine int) error {
		return clients[goroutine%programs].cycle(ctx, "hot")
	}}
	return b.pit(ctx, f, goroutines, []contender{ours}, others)
}
