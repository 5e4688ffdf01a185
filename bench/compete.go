//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// contender does the same thing repeatedly, in several goroutines.
type contender struct {
	name string
	once func(ctx context.Context, goroutine int) error
	// together, if set instead of once, makes other processes do it for a period, and returns how often they did.
	together func(ctx context.Context, period time.Duration) (int, error)
}

// compete runs contenders in turns, each in that many goroutines. It returns the rate per second of each one in each round.
func (b *bench) compete(ctx context.Context, goroutines int, contenders []contender) ([][]float64, error) {
	rates := make([][]float64, len(contenders))
	for range b.rounds {
		for i, each := range contenders {
			rate, err := each.run(ctx, goroutines, b.round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", each.name, err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	return rates, nil
}

// run returns the rate per second.
func (c contender) run(ctx context.Context, goroutines int, period time.Duration) (float64, error) {
	began := time.Now()
	var count int
	var err error
	if c.together != nil {
		count, err = c.together(ctx, period)
	} else {
		count, err = c.count(ctx, goroutines, period)
	}
	return float64(count) / time.Since(began).Seconds(), err
}

// count returns how often this process did it.
func (c contender) count(ctx context.Context, goroutines int, period time.Duration) (int, error) {
	counts := make([]int, goroutines)
	errs := make([]error, goroutines)
	began := time.Now()
	var running sync.WaitGroup
	for goroutine := range goroutines {
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
	return sum, errors.Join(errs...)
}

// pit runs ours and others in turns, and compares each of ours with each of the others. The figure has everything but the names. A name of
// ours is appended to the figure's.
func (b *bench) pit(ctx context.Context, f figure, goroutines int, ours, others []contender) error {
	rates, err := b.compete(ctx, goroutines, slices.Concat(ours, others))
	if err != nil {
		return err
	}
	for i, each := range ours {
		for j, other := range others {
			line := f
			line.Unit, line.Baseline = "/s", other.name
			line.Name += each.name
			b.report.compare(line, rates[i], rates[len(ours)+j])
		}
	}
	return nil
}
