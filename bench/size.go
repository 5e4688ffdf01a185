//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// tellEvery is how often progress is reported.
const tellEvery = 30 * time.Second

// size compares the size of a table after many cycles with that of a table with inserts and deletes. Commits do not wait for the disk where
// a session can choose that, since it does not affect the size.
func (b *bench) size(ctx context.Context, p *place) (err error) {
	const objects = 1000
	o, err := p.open(ctx, access{connections: poolSize, name: "size", hasty: true, patience: 10 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	cycles, err := b.cycleMany(ctx, p, []peer{getAndRelease(o.client), p.insertAndDelete(o.raw)}, objects)
	if err != nil {
		return err
	}
	if p.statements.analyze != "" {
		if err := p.raw.exec(ctx, p.statements.analyze); err != nil {
			return err
		}
	}
	var sizes [2][2]int64
	for i, name := range []string{p.statements.ours, "bench_plain"} {
		if err := p.raw.row(ctx, p.statements.sizes, []any{name}, &sizes[i][0], &sizes[i][1]); err != nil {
			return err
		}
	}
	for i, part := range []string{"table", "index"} {
		if sizes[1][i] == 0 {
			continue // the table is the index
		}
		f := figure{
			Product: p.product, Name: fmt.Sprintf("size of the %s after %d cycles of %d objects", part, cycles, objects),
			Unit: "KB", Baseline: "inserted and deleted",
		}
		b.report.compare(f, []float64{float64(sizes[0][i]) / 1024}, []float64{float64(sizes[1][i]) / 1024})
	}
	return nil
}

// cycleMany runs all peers in turns until they have made that many cycles or the time is up. It returns how many they made.
func (b *bench) cycleMany(ctx context.Context, p *place, peers []peer, objects int) (int, error) {
	const chunk = 2000
	began, told := time.Now(), time.Now()
	done := 0
	for ; done < b.manyCycles && time.Since(began) < b.limit; done += min(chunk, b.manyCycles-done) {
		for _, each := range peers {
			if err := each.often(ctx, min(chunk, b.manyCycles-done), objects); err != nil {
				return 0, err
			}
		}
		if time.Since(told) > tellEvery {
			told = time.Now()
			b.say("%s has made %d of %d cycles", p.product, done, b.manyCycles)
		}
	}
	return done, nil
}

// often takes and releases that often, in poolSize goroutines, each of which has its share of the objects.
func (p peer) often(ctx context.Context, times, objects int) error {
	errs := make([]error, poolSize)
	var running sync.WaitGroup
	for goroutine := range poolSize {
		running.Go(func() {
			for i := goroutine; i < times && errs[goroutine] == nil; i += poolSize {
				errs[goroutine] = p.cycle(ctx, strconv.Itoa(i%objects))
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
