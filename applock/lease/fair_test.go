package lease_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// Goal: programs that always have a waiter for an object get it equally often, however many waiters each has: none more than one and a half
// times as often as another; three times where nobody knows who waits, since chance decides. Method: workers in several programs that hold it again and again, on a backend that only answers polls and on
// one that sends messages.
func TestHeavyProgramsShareEvenly(t *testing.T) {
	t.Parallel()
	mostRatio := map[bool]float64{true: 1.5, false: 3}
	for _, workers := range [][]int{{2, 2, 8, 8}, {2, 8}} {
		for _, messages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/messages=%t", workers, messages), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					turns := turnsOf(t, workers, messages)
					ratio := float64(slices.Max(turns)) / float64(slices.Min(turns))
					if t.Logf("turns %v, ratio %.2f", turns, ratio); ratio > mostRatio[messages] {
						t.Errorf("a program has had %.2f times the turns of another, want %.1f at the most", ratio, mostRatio[messages])
					}
				})
			})
		}
	}
}

// turnsOf returns how many turns the workers of each program have had in half a minute for each program.
func turnsOf(t *testing.T, workers []int, messages bool) []int {
	t.Helper()
	const journey, holds = 200 * time.Microsecond, time.Millisecond
	backend := fakebackend.New()
	backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault {
		return fakebackend.Fault{Before: journey, After: journey}
	}
	const share = 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(workers))*share)
	defer cancel()
	turns := make([]int, len(workers))
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i, number := range workers {
		var kind lease.Backend = fakebackend.Polled{Backend: backend}
		if messages {
			kind = fakebackend.Program{Backend: backend, Name: fmt.Sprint(i)}
		}
		leases := lease.New(kind, lease.Config{})
		defer func() { _ = leases.Close() }()
		for worker := range number {
			group.Go(func() {
				taken := takeTurns(ctx, t, leases, fmt.Sprintf("program%d/1/%d", i, worker), holds, time.Hour)
				mutex.Lock()
				defer mutex.Unlock()
				turns[i] += taken
			})
		}
	}
	group.Wait()
	return turns
}
