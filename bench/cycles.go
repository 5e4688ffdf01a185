//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// contender does the same thing over and over, in several goroutines, each with an object of its own.
type contender struct {
	name string
	once func(ctx context.Context, goroutine int) error
}

// compete has contenders take turns, and returns how often a second each of them did it: the median of its rounds.
func (b *bench) compete(ctx context.Context, contenders []contender) ([]float64, error) {
	rates := make([][]float64, len(contenders))
	for range b.rounds {
		for i, each := range contenders {
			rate, err := each.run(ctx, b.round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", each.name, err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	medians := make([]float64, len(contenders))
	for i, each := range rates {
		medians[i] = median(each)
	}
	return medians, nil
}

func (c contender) run(ctx context.Context, period time.Duration) (float64, error) {
	counts := make([]int, poolSize)
	errs := make([]error, poolSize)
	began := time.Now()
	var running sync.WaitGroup
	for goroutine := range poolSize {
		running.Go(func() {
			for errs[goroutine] == nil && (time.Since(began) < period || counts[goroutine] == 0) {
				errs[goroutine] = c.once(ctx, goroutine)
				counts[goroutine]++
			}
		})
	}
	running.Wait()
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return float64(sum) / time.Since(began).Seconds(), errors.Join(errs...)
}

// cycles compares how many times a second objects are taken and released, on each backend of a product.
func (b *bench) cycles(ctx context.Context, p *place) error {
	if p.raw != nil {
		if err := b.cyclesOnTable(ctx, p); err != nil {
			return err
		}
	}
	backends, err := p.backends(ctx)
	if err != nil {
		return err
	}
	for _, each := range backends {
		leases, closeIt, err := each.open(poolSize)
		if err != nil {
			return err
		}
		err = b.faster(ctx, p, each.cycle, contender{each.name, acquireAndRelease(leases)})
		closeIt()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) cyclesOnTable(ctx context.Context, p *place) error {
	o, err := p.open(ctx, access{connections: poolSize, name: "cycles"})
	if err != nil {
		return err
	}
	defer func() { _ = o.close() }() // what it was good for has been measured
	return b.faster(ctx, p, contender{"insert and delete", p.insertAndDelete},
		contender{"get and release", getAndRelease(o.client)}, contender{"a lease", acquireAndRelease(o.client)})
}

// faster compares contenders with what is done by hand.
func (b *bench) faster(ctx context.Context, p *place, byHand contender, ours ...contender) error {
	rates, err := b.compete(ctx, append(ours, byHand))
	if err != nil {
		return err
	}
	for i, each := range ours {
		b.report.compare(figure{
			Product: p.product, Name: "cycles: " + each.name, Unit: "/s", Baseline: byHand.name,
		}, rates[i], rates[len(ours)])
	}
	return nil
}

func (p *place) insertAndDelete(ctx context.Context, goroutine int) error {
	id := strconv.Itoa(goroutine)
	if err := p.raw.exec(ctx, p.statements.insertPlain, id); err != nil {
		return err
	}
	return p.raw.exec(ctx, p.statements.deletePlain, id)
}

func getAndRelease(client *applock.Client) func(context.Context, int) error {
	return func(ctx context.Context, goroutine int) error {
		object := applock.Object{Type: "cycle", ID: strconv.Itoa(goroutine)}
		grant, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
		if err != nil {
			return err
		}
		_, err = client.Release(ctx, applock.ReleaseRequest{Object: object, Operator: "JDOE", Fence: grant.Fence})
		return err
	}
}

func acquireAndRelease(locker applock.Locker) func(context.Context, int) error {
	return func(ctx context.Context, goroutine int) error {
		object := applock.Object{Type: "lease", ID: strconv.Itoa(goroutine)}
		lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute})
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
}

// advisory takes and releases a session's advisory lock, which nothing on disk knows of.
func (e pgExecutor) advisory(ctx context.Context, goroutine int) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", goroutine); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", goroutine)
	return err
}

// refusals compares a get of what somebody else holds with a look at its row.
func (b *bench) refusals(ctx context.Context, p *place) error {
	o, err := p.open(ctx, access{connections: poolSize, name: "refusals"})
	if err != nil {
		return err
	}
	defer func() { _ = o.close() }() // what it was good for has been measured
	objects := make([]applock.Object, poolSize)
	for i := range objects {
		objects[i] = applock.Object{Type: "refusal", ID: strconv.Itoa(i)}
		if _, err := o.client.Get(ctx, applock.GetRequest{Object: objects[i], Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
			return err
		}
	}
	rates, err := b.compete(ctx, []contender{
		{"a refused get", func(ctx context.Context, goroutine int) error {
			_, err := o.client.Get(ctx, applock.GetRequest{Object: objects[goroutine], Owner: applock.Owner{Operator: "ASMITH"}})
			if errors.Is(err, applock.ErrHeld) {
				return nil
			}
			return fmt.Errorf("not refused: %w", err)
		}},
		{"a select", func(ctx context.Context, goroutine int) error {
			var operator string
			object := objects[goroutine]
			return p.raw.row(ctx, p.statements.holder, []any{object.Type, object.ID}, &operator)
		}},
	})
	if err != nil {
		return err
	}
	b.report.compare(figure{
		Product: p.product, Name: "refused gets", Unit: "/s", Baseline: "select by primary key",
	}, rates[0], rates[1])
	return nil
}
