package scale

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testfile"
)

// fleet is the load of a simulation: clients that each renew all their leases in one call, every third of the TTL.
type fleet struct {
	Clients int
	TTL     time.Duration
	// Work is the server's processor time for a renewal, Flush the time of the disk for a commit; commits that wait share the next flush.
	Work, Flush time.Duration
	Cores       int
	Seed        uint64
}

// outcome is what a simulation came to.
type outcome struct {
	Renewals int // that were answered
	// Busy is the part of all cores that was in use; P99 and Most are from the call to the answer.
	Busy      float64
	P99, Most time.Duration
	// Lost is how many leases ended because their renewal was answered later than their TTL after the one before.
	Lost int
}

// call is a renewal on its way.
type call struct {
	client int
	at     time.Duration // when it comes
}

type calls []call

func (c calls) Len() int           { return len(c) }
func (c calls) Less(i, j int) bool { return c[i].at < c[j].at }
func (c calls) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *calls) Push(x any)        { *c = append(*c, x.(call)) }
func (c *calls) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// run simulates for long: first come, first served by the cores, then one flush after the other.
func (f fleet) run(long time.Duration) outcome {
	random := rand.New(rand.NewPCG(f.Seed, 0))
	interval := f.TTL / 3
	var coming calls
	renewed := make([]time.Duration, f.Clients)
	for client := range f.Clients {
		at := time.Duration(random.Int64N(int64(interval)))
		coming = append(coming, call{client, at})
		renewed[client] = at - interval
	}
	heap.Init(&coming)
	free := make([]time.Duration, f.Cores)
	var flushing time.Duration // the end of the last flush that has begun or waits to begin
	var result outcome
	var busy time.Duration
	var took []time.Duration
	for coming.Len() > 0 && coming[0].at < long {
		next := heap.Pop(&coming).(call)
		core := slices.Index(free, slices.Min(free))
		began := max(next.at, free[core])
		// The work of calls differs: evenly between half and one and a half of the average.
		work := f.Work/2 + time.Duration(random.Int64N(int64(f.Work)+1))
		free[core] = began + work
		busy += work
		answered := flushed(began+work, f.Flush, &flushing)
		took = append(took, answered-next.at)
		if answered <= long {
			result.Renewals++
		}
		if answered-renewed[next.client] > f.TTL {
			result.Lost++
		}
		renewed[next.client] = next.at
		heap.Push(&coming, call{next.client, max(answered, next.at+interval)})
	}
	slices.SortFunc(took, cmp.Compare[time.Duration])
	result.Busy = min(1, busy.Seconds()/long.Seconds()/float64(f.Cores)) // what is begun before the end goes on behind it
	result.P99, result.Most = took[len(took)*99/100], took[len(took)-1]
	return result
}

// flushed returns when a commit that is ready is on disk. last is the end of the newest flush: a commit that comes before its begin is
// part of it, any other waits for the next one.
func flushed(ready, flush time.Duration, last *time.Duration) time.Duration {
	if ready > *last-flush {
		*last = max(ready, *last) + flush
	}
	return *last
}

// Goal: the model is right where the answer is known by hand. Method: an idle server answers after work and flush; one that is asked for
// twice what it has is busy all the time and loses leases; commits that wait share a flush.
func TestModel(t *testing.T) {
	t.Parallel()
	idle := fleet{Clients: 1, TTL: 30 * time.Second, Work: time.Millisecond, Flush: time.Millisecond, Cores: 2}.run(time.Minute)
	if idle.Renewals < 6 || idle.Renewals > 7 || idle.Most > 2500*time.Microsecond || idle.Lost > 0 {
		t.Errorf("idle: %+v", idle)
	}
	over := fleet{Clients: 1200, TTL: 3 * time.Second, Work: 10 * time.Millisecond, Cores: 2}.run(time.Minute)
	if over.Busy < 0.99 || over.Lost == 0 {
		t.Errorf("more than it can: %+v", over)
	}
	// One after the other 1000 commits of 5 ms would be five seconds in each second.
	shared := fleet{Clients: 1000, TTL: 3 * time.Second, Work: 100 * time.Microsecond, Flush: 5 * time.Millisecond, Cores: 2}.run(time.Minute)
	if shared.Most > 100*time.Millisecond || shared.Lost > 0 {
		t.Errorf("commits that share a flush: %+v", shared)
	}
}

// Goal: the page's table of fleets is what the model says. Method: simulate each row again. A renewal takes what was measured, and a flush
// what results.md of the bench says: some 2,000 commits a second, one after the other.
func TestPageHasTheModel(t *testing.T) {
	t.Parallel()
	const long, work, flush = time.Minute, 750 * time.Microsecond, 500 * time.Microsecond
	text := testfile.Read(t, page)
	for _, clients := range []int{1000, 10000, 30000, 100000} {
		for _, cores := range []int{2, 8} {
			o := fleet{Clients: clients, TTL: 30 * time.Second, Work: work, Flush: flush, Cores: cores, Seed: 1}.run(long)
			row := fmt.Sprintf("| %d | %d | %.0f | %.0f %% | %s | %s |", clients, cores, float64(o.Renewals)/long.Seconds(), 100*o.Busy,
				o.P99.Round(100*time.Microsecond), strconv.FormatBool(o.Lost > 0))
			if !strings.Contains(text, row) {
				t.Errorf("the page lacks %q", row)
			}
		}
	}
}
