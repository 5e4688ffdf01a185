//go:build turns

package soak_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/turns"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// turnsVariable is for how many seconds the programs of each line of the table take turns: 50, on a quiet machine, take an hour.
	turnsVariable = "APPLOCK_SOAK_TURNS"
	crowdSize     = 4 // programs, and workers of each
	hotHold       = time.Millisecond
	// longestRow is the 0.5 s that are promised, and the time that a busy machine may add.
	longestRow = 3 * time.Second
)

// Goal: between two rows of turns of a program each other one that waits has had one, and no row is long. The throughput of four programs is
// not much less than that of one. A program that is gone does not keep the others from the object for long.
// Method: four programs of four workers take turns at one object, over a network of 0 to 50 ms; then one falls silent. It has a tag since it
// judges by the clock: TestRowsOfPrograms has no clock.
// Where nobody knows whose turn it is, chance decides, and only the rows are looked at.
func TestTurnsOfPrograms(t *testing.T) {
	long := time.Duration(worker.Number(t, turnsVariable, 3)) * time.Second
	for _, b := range backends() {
		ways := []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond}
		if b.name == "sqlite" { // has no network
			ways = ways[:1]
		}
		for _, way := range ways {
			t.Run(fmt.Sprint(b.name, "/", way), func(t *testing.T) {
				alone := turnsOf(t, b, way, 1, long/3, nil)
				all := turnsOf(t, b, way, crowdSize, long, nil)
				verdict := turns.Judge(all, 0)
				t.Logf("alone %d/s, together %s, idle %.0f %%, %s", rate(alone), shares(all), 100*verdict.Idle.Seconds()/long.Seconds(), verdict)
				isFair := !slices.ContainsFunc([]string{"getlock", "pgadvisory"}, func(name string) bool { return strings.HasPrefix(b.name, name) })
				if isFair && len(verdict.PassedOver) > 0 {
					t.Errorf("%d times a program had two rows without one of another that waited", len(verdict.PassedOver))
				}
				if verdict.Longest > longestRow {
					t.Errorf("a row lasted %s", verdict.Longest)
				}
				if long >= 50*time.Second && b.name != "sqlite" {
					beside := turnsOf(t, b, way, crowdSize, 2*time.Minute, func(last *wire.Wire) { last.Silence() })
					t.Logf("beside a silent one %s", shares(beside))
				}
			})
		}
	}
}

// rate is the turns of a second.
func rate(all []turns.Turn) int { return int(float64(len(all)) / all[len(all)-1].To.Seconds()) }

// shares tells the rate, the turns of each program, and those of each ten seconds.
func shares(all []turns.Turn) string {
	var each [crowdSize]int
	var perTen []int
	for _, turn := range all {
		each[turn.Program]++
	}
	for from := time.Duration(0); from < all[len(all)-1].To; from += 10 * time.Second {
		perTen = append(perTen, turns.Between(all, from, from+10*time.Second))
	}
	return fmt.Sprintf("%d/s, each %v, in ten seconds %v", rate(all), each, perTen)
}

// turnsOf has so many programs take turns. With disturb the last one's wire is disturbed after twenty seconds.
func turnsOf(t *testing.T, b backend, way time.Duration, programs int, long time.Duration, disturb func(last *wire.Wire)) (all []turns.Turn) {
	t.Helper()
	place := b.place(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, had := time.Now(), make(chan turns.Turn, 1000)
	var group sync.WaitGroup
	for program := range programs {
		dsn := place
		if b.name != "sqlite" {
			var w *wire.Wire
			w, dsn = wire.Through(t, place)
			w.Slow(way)
			if disturb != nil && program == programs-1 {
				time.AfterFunc(20*time.Second, func() { disturb(w) })
				defer w.Speak()
			}
		}
		locker := opened(t, b, dsn)
		for range crowdSize {
			group.Go(func() { takeTurns(ctx, t, locker, began, program, had) })
		}
	}
	time.AfterFunc(time.Until(began.Add(long)), cancel)
	go func() { group.Wait(); close(had) }()
	for one := range had {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b turns.Turn) int { return int(a.From - b.From) })
	return all
}

func takeTurns(ctx context.Context, t *testing.T, locker lease.Locker, began time.Time, program int, had chan<- turns.Turn) {
	t.Helper()
	for ctx.Err() == nil {
		lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: lateObject(0), MaxHold: 2 * time.Second})
		if err != nil {
			continue
		}
		from := time.Since(began)
		time.Sleep(hotHold)
		had <- turns.Turn{Program: program, From: from, To: time.Since(began)}
		_ = lease.Release(context.WithoutCancel(ctx))
	}
}
