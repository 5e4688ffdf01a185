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
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// turnsVariable is for how many seconds the programs of each line of the table take turns, which takes a quiet machine and an hour.
	turnsVariable = "APPLOCK_SOAK_TURNS"
	crowdSize     = 4 // programs, and workers of each
	hotHold       = time.Millisecond
	// longestRow is the 0.5 s that are promised, and the time that a busy machine may add.
	longestRow = 3 * time.Second
)

// Goal: between two rows of turns of a program each other one that waits has had one, and no row is long. The throughput of four programs is
// not much less than that of one. A program that is gone does not keep the others from the object for long.
// Method: four programs of four workers take turns at one object, over a network of 0 to 50 ms; then one falls silent.
// Where nobody knows whose turn it is, chance decides, and only the rows are looked at.
func TestTurnsOfPrograms(t *testing.T) {
	t.Parallel()
	long, ways := 2*time.Second, []time.Duration{5 * time.Millisecond}
	seconds := worker.Number(t, turnsVariable, 0)
	if seconds > 0 {
		long, ways = time.Duration(seconds)*time.Second, []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond}
	}
	for _, b := range backends() {
		ways := ways
		if b.name == "sqlite" { // has no network
			ways = []time.Duration{0}
		}
		for _, way := range ways {
			t.Run(fmt.Sprint(b.name, "/", way), func(t *testing.T) {
				if seconds == 0 {
					t.Parallel() // only a long run has figures
				}
				alone := turnsOf(t, b, way, 1, long/3, nil)
				all := turnsOf(t, b, way, crowdSize, long, nil)
				t.Logf("alone %d/s, %s", alone.rate(), all)
				isFair := !slices.ContainsFunc([]string{"getlock", "pgadvisory"}, func(name string) bool { return strings.HasPrefix(b.name, name) })
				if isFair && all.passedOver > 0 {
					t.Errorf("%d times a program had two rows without one of another that waited", all.passedOver)
				}
				if all.longest > longestRow {
					t.Errorf("a row lasted %s", all.longest)
				}
				if seconds >= 50 && b.name != "sqlite" {
					silent := turnsOf(t, b, way, crowdSize, 2*time.Minute, func(last *wire.Wire) { last.Silence() })
					t.Logf("beside a silent one %s", silent)
				}
			})
		}
	}
}

// turn is a hold of a program.
type turn struct {
	program  int
	from, to time.Duration
}

// turns is what programs have had.
type turns struct {
	lasted     time.Duration
	each       []int
	perTen     []int // in each ten seconds
	longest    time.Duration
	without    time.Duration // the longest time of a program without a turn
	passedOver int
	rows       int
	idle       time.Duration // between rows
}

func (s turns) rate() int { return int(float64(sum(s.each)) / s.lasted.Seconds()) }

func sum(all []int) (total int) {
	for _, n := range all {
		total += n
	}
	return total
}

func (s turns) String() string {
	idle := s.idle / time.Duration(max(s.rows-1, 1))
	return fmt.Sprintf("%d/s, each %v, %d rows, longest %s, idle between two %s (%.0f %%), longest without %s, passed over %d, in ten seconds %v",
		s.rate(), s.each, s.rows, rounded(s.longest), rounded(idle), 100*float64(s.idle)/float64(s.lasted), rounded(s.without), s.passedOver, s.perTen)
}

// turnsOf has so many programs take turns. With disturb the last one's wire is disturbed after twenty seconds.
func turnsOf(t *testing.T, b backend, way time.Duration, programs int, long time.Duration, disturb func(last *wire.Wire)) turns {
	t.Helper()
	place := b.place(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, had := time.Now(), make(chan turn, 1000)
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
	var all []turn
	for one := range had {
		all = append(all, one)
	}
	return judgeTurns(all, programs, long)
}

func takeTurns(ctx context.Context, t *testing.T, locker lease.Locker, began time.Time, program int, had chan<- turn) {
	t.Helper()
	for ctx.Err() == nil {
		lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: lateObject(0), MaxHold: 2 * time.Second})
		if err != nil {
			continue
		}
		from := time.Since(began)
		time.Sleep(hotHold)
		had <- turn{program, from, time.Since(began)}
		_ = lease.Release(context.WithoutCancel(ctx))
	}
}

func judgeTurns(all []turn, programs int, long time.Duration) turns {
	slices.SortFunc(all, func(a, b turn) int { return int(a.from - b.from) })
	s := turns{lasted: long, each: make([]int, programs), perTen: make([]int, 1+int(long/(10*time.Second)))}
	last := make([]time.Duration, programs) // turn of each
	since := make([][]bool, programs)       // its last row, who has had one
	for i := range since {
		since[i] = make([]bool, programs)
	}
	var row turn // from the first turn's beginning to the last one's
	for i, one := range all {
		s.each[one.program]++
		s.perTen[min(int(one.from/(10*time.Second)), len(s.perTen)-1)]++
		s.without = max(s.without, one.from-last[one.program])
		if i == 0 || all[i-1].program != one.program {
			s.rows++
			if i > 0 {
				s.idle += one.from - all[i-1].to
				s.longest = max(s.longest, row.to-row.from)
			}
			for other, hasHad := range since[one.program] {
				if other != one.program && !hasHad && last[one.program] > 0 && i > 0 && last[other] > 0 {
					s.passedOver++
				}
				since[one.program][other] = false
				since[other][one.program] = true
			}
			row = one
		}
		row.to, last[one.program] = one.from, one.to
	}
	for _, to := range last {
		s.without = max(s.without, long-to)
	}
	return s
}
