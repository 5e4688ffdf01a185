package soak_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Kinds of records that a worker writes, and the chaos.
const (
	kindLive    = "live"    // a hold was live from From to To
	kindLost    = "lost"    // a lease was lost at To, which its holder has not ended
	kindWaited  = "waited"  // a worker waited from From to To for a hot object
	kindOverdue = "overdue" // a call whose context ended at From returned at To
	kindStall   = "stall"   // the process did not get on from From to To, for want of a processor
	kindChaos   = "chaos"   // something was done to the worker from From to To
)

// record is a line of a worker's journal. Times are microseconds of the machine's clock, which all processes share.
type record struct {
	Kind   string `json:"kind"`
	Worker int    `json:"worker"`
	Object string `json:"object,omitempty"`
	Fence  int64  `json:"fence,omitempty"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Note   string `json:"note,omitempty"`
}

func micros(t time.Time) int64 { return t.UnixMicro() }

// verdict is what a soak has shown of a backend.
type verdict struct {
	holds    int
	overlaps []overlap
	// unheard are overlaps of two programs one of which had not heard yet that its session had just been cut.
	unheard   int
	losses    int
	unfounded []string // losses without a cause
	worstWait float64  // in fair turns
	overdue   time.Duration
	// idle is how many requests a second a number of leases without a TTL cost that nobody waits for.
	idle float64
}

// overlap is two holds that were live at the same time.
type overlap struct{ before, after record }

func (o overlap) String() string {
	return fmt.Sprintf("%s: worker %d with fence %d until %d, worker %d with fence %d from %d",
		o.before.Object, o.before.Worker, o.before.Fence, o.before.To, o.after.Worker, o.after.Fence, o.after.From)
}

// judge reads the journals. Where locks are those of sessions, the server frees everything at once when a session ends. For as long as hearing
// after something was done to it, a program may go on holding, and pass objects on to its next waiters. A loss has a cause if something was done
// to the worker, or it had no processor, while the lease should have been renewed: within two TTLs before. Where locks are in a file, it also
// has one if any worker was stopped for a third of the last TTL: who is stopped in a write keeps all others from writing.
func judge(records []record, ttl time.Duration, waiters int, hearing time.Duration, isFile bool) verdict {
	var v verdict
	holds := map[string][]record{}
	var disturbed []record
	var waits []time.Duration
	for _, r := range records {
		switch r.Kind {
		case kindLive:
			holds[r.Object] = append(holds[r.Object], r)
			v.holds++
		case kindChaos, kindStall:
			disturbed = append(disturbed, r)
		case kindWaited:
			waits = append(waits, time.Duration(r.To-r.From)*time.Microsecond)
		}
	}
	during := func(r record, before time.Duration) bool {
		return slices.ContainsFunc(disturbed, func(d record) bool {
			return d.Worker == r.Worker && d.From <= r.To && d.To >= r.From-before.Microseconds()
		})
	}
	for _, of := range holds {
		for _, o := range overlapsOf(of) {
			isUnheard := func(worker int) bool {
				return during(record{Worker: worker, From: o.after.From, To: o.after.From}, hearing)
			}
			if hearing > 0 && (isUnheard(o.before.Worker) || isUnheard(o.after.Worker)) {
				v.unheard++
				continue
			}
			v.overlaps = append(v.overlaps, o)
		}
	}
	for _, r := range records {
		switch {
		case r.Kind == kindLost:
			v.losses++
			isFounded := during(r, 2*ttl) || isFile && stoppedBefore(disturbed, r.To, ttl) >= ttl/3
			if !isFounded {
				v.unfounded = append(v.unfounded, fmt.Sprintf("worker %d lost %s: %s", r.Worker, r.Object, r.Note))
			}
		case r.Kind == kindOverdue && !during(r, 0):
			v.overdue = max(v.overdue, time.Duration(r.To-r.From)*time.Microsecond)
		}
	}
	v.worstWait = fairTurns(waits, waiters)
	return v
}

// stoppedBefore returns for how long workers were stopped in the time before a moment.
func stoppedBefore(disturbed []record, moment int64, before time.Duration) time.Duration {
	var sum int64
	for _, d := range disturbed {
		if d.Kind == kindChaos && d.Note == "stop" {
			sum += max(0, min(d.To, moment)-max(d.From, moment-before.Microseconds()))
		}
	}
	return time.Duration(sum) * time.Microsecond
}

// overlapsOf returns pairs of holds of one object that were live at the same time.
func overlapsOf(holds []record) []overlap {
	slices.SortFunc(holds, func(a, b record) int { return cmp.Compare(a.From, b.From) })
	var overlaps []overlap
	for i := 1; i < len(holds); i++ {
		if before, after := holds[i-1], holds[i]; after.From < before.To {
			overlaps = append(overlaps, overlap{before, after})
			holds[i].To = max(after.To, before.To)
		}
	}
	return overlaps
}

// fairTurns returns the longest wait as a multiple of the fair one: in a queue of so many, everybody waits equally long.
func fairTurns(waits []time.Duration, waiters int) float64 {
	if len(waits) < waiters {
		return 0
	}
	var sum time.Duration
	for _, wait := range waits {
		sum += wait
	}
	return float64(slices.Max(waits)) / (float64(sum) / float64(len(waits)))
}

// Goal: the judge finds what it is for. Method: journals with one thing wrong, and the same without it.
func TestJudge(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second / time.Microsecond)
	live := func(worker int, from, to int64) record {
		return record{Kind: kindLive, Worker: worker, Object: "hot:1", From: from * second, To: to * second}
	}
	lost := record{Kind: kindLost, Worker: 1, Object: "own:1", From: 100 * second, To: 100 * second}
	late := record{Kind: kindOverdue, Worker: 1, From: 100 * second, To: 104 * second}
	stop := record{Kind: kindChaos, Worker: 1, From: 90 * second, To: 101 * second}
	judged := func(records ...record) verdict { return judge(records, 9*time.Second, 1, 0, false) }
	if v := judged(live(1, 0, 10), live(2, 10, 20), live(1, 20, 21)); v.holds != 3 || len(v.overlaps) != 0 {
		t.Errorf("one after the other: %+v", v)
	}
	if v := judged(live(1, 0, 10), live(2, 9, 11)); len(v.overlaps) != 1 {
		t.Errorf("two at a time: %+v", v)
	}
	if v := judged(live(1, 0, 10), live(2, 1, 2), live(1, 3, 4)); len(v.overlaps) != 2 {
		t.Errorf("two within a third one: %+v", v)
	}
	cut := record{Kind: kindChaos, Worker: 1, From: 8 * second, To: 8 * second}
	for hearing, want := range map[time.Duration]int{0: 0, 500 * time.Millisecond: 0, 2 * time.Second: 1} {
		v := judge([]record{live(1, 0, 10), live(2, 9, 11), cut}, 9*time.Second, 1, hearing, false)
		if v.unheard != want || len(v.overlaps) != 1-want {
			t.Errorf("a cut session of which the holder hears within %s: %+v", hearing, v)
		}
	}
	for worker, want := range map[int]int{2: 0, 3: 1} {
		cut.Worker = worker
		if v := judge([]record{live(1, 0, 10), live(2, 9, 11), cut}, 9*time.Second, 1, 2*time.Second, false); len(v.overlaps) != want {
			t.Errorf("the session of worker %d is cut: %+v", worker, v)
		}
	}
	if v := judged(lost); v.losses != 1 || len(v.unfounded) != 1 {
		t.Errorf("a loss without a cause: %+v", v)
	}
	if v := judged(lost, stop); v.losses != 1 || len(v.unfounded) != 0 {
		t.Errorf("a loss with a cause: %+v", v)
	}
	for other, want := range map[record]int{
		{Kind: kindChaos, Worker: 2, Note: "stop", From: 90 * second, To: 94 * second}:   0,
		{Kind: kindChaos, Worker: 2, Note: "stop", From: 90 * second, To: 93 * second}:   1, // only two seconds of its TTL
		{Kind: kindChaos, Worker: 2, Note: "stop", From: 101 * second, To: 105 * second}: 1,
		{Kind: kindChaos, Worker: 2, Note: "kill", From: 90 * second, To: 94 * second}:   1,
	} {
		if v := judge([]record{lost, other}, 9*time.Second, 1, 0, true); len(v.unfounded) != want {
			t.Errorf("a loss in a file beside %+v: %+v", other, v)
		}
		if v := judged(lost, other); len(v.unfounded) != 1 {
			t.Errorf("a loss beside %+v of another worker: %+v", other, v)
		}
	}
	if v := judged(late); v.overdue != 4*time.Second {
		t.Errorf("a late return: %+v", v)
	}
	if v := judged(late, stop); v.overdue != 0 {
		t.Errorf("a late return of a stopped process: %+v", v)
	}
	waits := []time.Duration{time.Second, time.Second, time.Second, 9 * time.Second}
	if turns := fairTurns(waits, 2); turns != 3 {
		t.Errorf("the longest wait is %v fair turns, want 3", turns)
	}
}
