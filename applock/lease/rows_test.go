package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
	"github.com/applock/applock/internal/testing/turns"
)

// Goal: between two rows of turns of a program each other listed one has had one, and no row lasts for more than 0.5 s beyond the hold under
// way; a program that is gone costs the others half of their turns at the most, and nothing when it is not listed any more. Method: two to five
// programs that always have waiters, with random ways and holds that are not shorter than the way there; one more program may wait, and be dead. The seed is
// the test's name. A caller of a program that has just had the object may be quicker than the next program where holds are shorter.
func TestRowsOfPrograms(t *testing.T) {
	t.Parallel()
	playRows(t, 0, 2)
}

// Goal and method: those of TestRowsOfPrograms, with thirty times as many settings and without the race detector.
func TestHeavyRowsOfPrograms(t *testing.T) {
	t.Parallel()
	playRows(t, 2, 60)
}

func playRows(t *testing.T, first, end uint64) {
	t.Helper()
	for seed := first; seed < end; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newRows(seed).run(t) })
		})
	}
}

type rows struct {
	programs, workers int
	way, hold         time.Duration
	hasDead           bool

	mutex sync.Mutex
	began time.Time
	turns []turns.Turn
}

const (
	rowsLast = 3 * time.Minute
	// diesAfter is when a program dies, which is listed for deadListed at the most.
	diesAfter  = time.Minute
	deadListed = time.Minute
	// mostBreaches is how often a program may come too early while the others wait for a dead one: what they know of their places is as old as
	// a call.
	mostBreaches = 3
)

func newRows(seed uint64) *rows {
	c := newChance(seed, "rows")
	way := oneOf(c, 200*time.Microsecond, 5*time.Millisecond, 20*time.Millisecond, 80*time.Millisecond)
	return &rows{programs: 2 + c.IntN(4), workers: 1 + c.IntN(4), hasDead: c.hits(50), way: way, hold: way/2 + c.upTo(30*time.Millisecond)}
}

func (r *rows) run(t *testing.T) {
	t.Helper()
	r.began = time.Now()
	backend := fakebackend.New()
	backend.Fault = func(context.Context, fakebackend.Call) fakebackend.Fault {
		return fakebackend.Fault{Before: r.way / 2, After: r.way / 2}
	}
	if r.hasDead {
		time.AfterFunc(diesAfter, func() {
			dead := fakebackend.Program{Backend: backend, Name: "dead"}
			if err := dead.Announce(t.Context(), nightly, applock.Owner{Operator: "JDOE"}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), rowsLast)
	defer cancel()
	var group sync.WaitGroup
	for program := range r.programs {
		leases := lease.New(fakebackend.Program{Backend: backend, Name: fmt.Sprint(program)}, lease.Config{})
		defer func() { _ = leases.Close() }()
		for range r.workers {
			group.Go(func() { r.work(ctx, leases, program) })
		}
	}
	group.Wait()
	r.judge(t)
}

func (r *rows) work(ctx context.Context, leases *lease.Leases, program int) {
	for ctx.Err() == nil {
		held, err := leases.Acquire(ctx, anHour(nightly))
		if err != nil {
			return
		}
		turn := turns.Turn{Program: program, From: time.Since(r.began)}
		time.Sleep(r.hold)
		turn.To = time.Since(r.began)
		r.mutex.Lock()
		r.turns = append(r.turns, turn)
		r.mutex.Unlock()
		_ = held.Release(context.WithoutCancel(ctx))
	}
}

func (r *rows) judge(t *testing.T) {
	t.Helper()
	// A program that ends its row is listed after a few calls.
	verdict := turns.Judge(r.turns, 4*r.way)
	breaches := 0
	for _, turn := range verdict.PassedOver {
		if r.hasDead && diesAfter <= turn.From && turn.From < diesAfter+deadListed && breaches < mostBreaches {
			breaches++
			continue
		}
		t.Errorf("after %s program %d has another row, and another one has had none in between", turn.From, turn.Program)
	}
	if longest := 500*time.Millisecond + r.hold; verdict.Longest > longest {
		t.Errorf("a row lasts %s, want %s at the most", verdict.Longest, longest)
	}
	before := turns.Between(r.turns, diesAfter/2, diesAfter)
	beside, after := turns.Between(r.turns, diesAfter, diesAfter+deadListed)/2, turns.Between(r.turns, diesAfter+deadListed, rowsLast)/2
	t.Logf("%d programs, %d workers, way %s, hold %s, turns %d %d %d", r.programs, r.workers, r.way, r.hold, before, beside, after)
	if r.hasDead && (beside < before/2 || after < before*9/10) {
		t.Errorf("%d turns before a program has died, %d beside its waiter, %d later", before, beside, after)
	}
}
