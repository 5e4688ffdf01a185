//go:build linux

package clusters_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// grant is a grant as its holder has seen it. Times are microseconds of the machine's monotonic clock, which all programs share.
type grant struct {
	Object, Operator string
	Fence            applock.Fence
	IsLease          bool
	// By is the number of the program, or of the node that has granted.
	By int
	// Off is by how much the program's clock is before the monotonic one.
	Off             int64
	Asked, Answered int64
	// Ended is when the holder gave it back, was told of its loss, or could trust it no longer by its own count.
	Ended int64
	// Told is what the holder was told of its loss.
	Told string
	// Asserted is when those assertions began that were answered by yes, and the commits of those that were made in a transaction.
	Asserted []int64
}

// write is a transaction that began with an assertion, and whose commit was acknowledged. Those with a number have changed the row of the object.
type write struct {
	object, id string
	number     int64
	fence      applock.Fence
}

// look is an answer of inquire, by the fence, which is 0 for nobody.
type look struct {
	object string
	fence  applock.Fence
	asked  int64
}

// overlap is two grants of one object that were live at the same time.
type overlap struct{ former, later *grant }

func (o overlap) long() time.Duration {
	return time.Duration(o.former.Ended-o.later.Answered) * time.Microsecond
}

func (o overlap) String() string {
	return fmt.Sprintf("%s: fence %d of %s until %d (told: %q), and fence %d of %s from %d: for %s", o.former.Object, o.former.Fence, o.former.Operator,
		o.former.Ended, o.former.Told, o.later.Fence, o.later.Operator, o.later.Answered, o.long())
}

// verdict is what records tell.
type verdict struct {
	grants, leases, writes int
	// told are grants whose holders were told of their loss.
	told     int
	overlaps []overlap
	// wrong is what must not be, whatever the clocks do.
	wrong []string
	// lost are acknowledged grants of which the history has nothing, and gone is how many acknowledged writes are not there.
	lost []*grant
	gone int
	// stale are answers of inquire that tell less than was acknowledged before the call. They were true when they were read.
	stale int
	// unknown are gets that were answered with an error, and have their grant in the history, by the error.
	unknown map[string]int
	// step is the smallest by which a fence exceeds the one before of its object.
	step applock.Fence
	// pause is the longest time without a new grant of any object.
	pause time.Duration
}

// broken is how many promises were broken.
func (v verdict) broken() int { return len(v.overlaps) + len(v.wrong) + len(v.lost) + v.gone }

func (v verdict) String() string {
	return fmt.Sprintf("%d grants, %d fenced writes; lost grants %d, lost writes %d, held twice %v, wrong %q, stale looks %d, longest pause %.1f s; an error and yet granted: %v",
		v.grants, v.writes, len(v.lost), v.gone, v.overlaps, v.wrong, v.stale, v.pause.Seconds(), v.unknown)
}

func (v *verdict) isWrong(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// judgeGrants looks for fences that do not grow, grants that overlap, losers that were not told and assertions that came too late.
func judgeGrants(grants []*grant) verdict {
	v := verdict{grants: len(grants), unknown: map[string]int{}}
	slices.SortFunc(grants, func(a, b *grant) int { return cmp.Compare(a.Answered, b.Answered) })
	of := map[string][]*grant{}
	for i, g := range grants {
		of[g.Object] = append(of[g.Object], g)
		if g.IsLease {
			v.leases++
		}
		if g.Told != "" {
			v.told++
		}
		if i > 0 {
			v.pause = max(v.pause, time.Duration(g.Answered-grants[i-1].Answered)*time.Microsecond)
		}
	}
	for _, object := range of {
		slices.SortFunc(object, func(a, b *grant) int { return cmp.Compare(a.Fence, b.Fence) })
		for i, former := range object {
			v.judgePair(former, object[i+1:])
		}
	}
	return v
}

// judgePair compares a grant with those of greater fences.
func (v *verdict) judgePair(former *grant, others []*grant) {
	if len(others) > 0 {
		step := others[0].Fence - former.Fence
		if v.step == 0 || step < v.step {
			v.step = step
		}
		if step == 0 {
			v.isWrong("%s: the fence %d was given twice", former.Object, former.Fence)
		}
	}
	for _, later := range others {
		if later.Answered < former.Asked {
			v.isWrong("%s: the fence %d was given after %d", former.Object, former.Fence, later.Fence)
		}
		for _, began := range former.Asserted {
			if began > later.Answered {
				v.isWrong("%s: the fence %d was asserted after %d was given", former.Object, former.Fence, later.Fence)
			}
		}
		if later.Answered >= former.Ended {
			continue
		}
		v.overlaps = append(v.overlaps, overlap{former, later})
		if former.IsLease && former.Told == "" {
			v.isWrong("%s: the holder of the fence %d was not told of its loss", former.Object, former.Fence)
		}
	}
}

// stored is what a server has: the grants of the history as "object fence operator", the writes, and the fences of the locks.
type stored struct {
	history map[string]bool
	writes  []write
	fences  map[string]applock.Fence
}

// records is what clients have been told.
type records struct {
	grants []*grant
	writes []write
	looks  []look
	failed map[string]string // gets that were answered with an error, by their operator
}

func (g *grant) String() string { return fmt.Sprintf("%s %d %s", g.Object, g.Fence, g.Operator) }

// judge compares all that was acknowledged with what a server has.
func (r *records) judge(s stored) verdict {
	v := judgeGrants(r.grants)
	v.writes = len(r.writes)
	for _, g := range r.grants {
		if !s.history[g.String()] {
			v.lost = append(v.lost, g)
		}
	}
	there := map[write]bool{}
	for _, w := range s.writes {
		there[w] = true
	}
	for _, w := range r.writes {
		if !there[w] {
			v.gone++
		}
	}
	v.judgeServer(s)
	for entry := range s.history {
		if err := r.failed[entry[strings.LastIndexByte(entry, ' ')+1:]]; err != "" {
			v.unknown[err]++
		}
	}
	for _, l := range r.looks {
		// What nobody has, was released or has expired since, or is not there yet: so only an older fence is stale for sure.
		if l.fence != 0 && l.fence < r.lastFence(l.object, l.asked) {
			v.stale++
		}
	}
	return v
}

// judgeServer looks for a lock that is older than its history, and for writes whose fence is smaller than that of the one before.
func (v *verdict) judgeServer(s stored) {
	for entry := range s.history {
		var object string
		var fence applock.Fence
		if _, err := fmt.Sscan(entry, &object, &fence); err != nil || s.fences[object] < fence {
			v.isWrong("%s: the lock has the fence %d, and %d is in the history", object, s.fences[object], fence)
		}
	}
	numbered := slices.DeleteFunc(slices.Clone(s.writes), func(w write) bool { return w.number == 0 })
	slices.SortFunc(numbered, func(a, b write) int { return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.number, b.number)) })
	for i := 1; i < len(numbered); i++ {
		if former, w := numbered[i-1], numbered[i]; former.object == w.object && w.fence < former.fence {
			v.isWrong("%s: the fence of write %d is smaller than that of the one before", w.object, w.number)
		}
	}
}

// lastFence is the greatest that was acknowledged before a time.
func (r *records) lastFence(object string, before int64) (last applock.Fence) {
	for _, g := range r.grants {
		if g.Object == object && g.Answered < before {
			last = max(last, g.Fence)
		}
	}
	return last
}

// Goal: the judge sees what it is there for. Method: records by hand, each with one thing wrong.
func TestJudge(t *testing.T) {
	lease := func(fence applock.Fence, asked, ended int64, told string, asserted ...int64) *grant {
		return &grant{
			Object: "o", Operator: fmt.Sprintf("p%d", fence), Fence: fence, IsLease: true, Asked: asked, Answered: asked + 1, Ended: ended, Told: told,
			Asserted: asserted,
		}
	}
	one, two := lease(1, 0, 5, "", 2), lease(2, 6, 9, "", 8)
	both := stored{history: map[string]bool{"o 1 p1": true, "o 2 p2": true}, fences: map[string]applock.Fence{"o": 2}}
	having := func(writes ...write) stored { return stored{both.history, writes, both.fences} }
	for name, c := range map[string]struct {
		records  records
		stored   stored
		wrong    string
		overlaps int
		// others are the numbers of lost grants, lost writes, stale looks and errors that were grants.
		others [4]int
	}{
		"one after the other":      {records: records{grants: []*grant{one, two}}},
		"a loss before the other":  {records: records{grants: []*grant{lease(1, 0, 5, "lost"), two}}},
		"a loser who is told late": {records: records{grants: []*grant{lease(1, 0, 8, "lost"), lease(2, 5, 9, "")}}, overlaps: 1},
		"a loser who is never told": {
			records: records{grants: []*grant{lease(1, 0, 8, ""), lease(2, 5, 9, "")}}, overlaps: 1, wrong: "o: the holder of the fence 1 was not told of its loss",
		},
		"one overlaps with the next but one": {
			records: records{grants: []*grant{lease(1, 0, 8, "lost"), lease(2, 2, 4, "lost"), lease(3, 5, 9, "")}}, overlaps: 2, others: [4]int{1},
		},
		"the same fence": {records: records{grants: []*grant{one, lease(1, 6, 9, "")}}, wrong: "o: the fence 1 was given twice"},
		"a fence that goes back": {
			records: records{grants: []*grant{lease(2, 0, 5, "lost"), lease(1, 6, 9, "lost")}}, overlaps: 1, wrong: "o: the fence 1 was given after 2",
		},
		"an assertion or a write that comes too late": {
			records: records{grants: []*grant{lease(1, 0, 5, "", 2, 8), two}}, wrong: "o: the fence 1 was asserted after 2 was given",
		},
		"a write that goes back": {
			stored: having(write{"o", "a", 1, 2}, write{"o", "b", 2, 1}), wrong: "o: the fence of write 2 is smaller than that of the one before",
		},
		"a lock of before": {
			stored: stored{history: both.history, fences: map[string]applock.Fence{"o": 1}}, wrong: "o: the lock has the fence 1, and 2 is in the history",
		},
		"a lost grant":                    {records: records{grants: []*grant{lease(3, 0, 5, "")}}, others: [4]int{1}},
		"a grant that another one has":    {records: records{grants: []*grant{{Object: "o", Fence: 2, Operator: "p3"}}}, others: [4]int{1}},
		"a lost write":                    {records: records{writes: []write{{"o", "x", 0, 2}}}, others: [4]int{0, 1}},
		"a write that another one is now": {records: records{writes: []write{{"o", "a", 1, 1}}}, stored: having(write{"o", "a", 1, 2}), others: [4]int{0, 1}},
		"a write that is there":           {records: records{writes: []write{{"o", "a", 1, 1}}}, stored: having(write{"o", "a", 1, 1})},
		"a stale look":                    {records: records{grants: []*grant{one, two}, looks: []look{{"o", 1, 8}, {"o", 1, 3}}}, others: [4]int{0, 0, 1}},
		"an error, and yet granted":       {records: records{failed: map[string]string{"p1": "error", "p3": "error"}}, others: [4]int{0, 0, 0, 1}},
	} {
		if c.stored.history == nil {
			c.stored = both
		}
		v := c.records.judge(c.stored)
		others := [4]int{len(v.lost), v.gone, v.stale, len(slices.Collect(maps.Keys(v.unknown)))}
		if wrong := strings.Join(v.wrong, "; "); wrong != c.wrong || len(v.overlaps) != c.overlaps || others != c.others {
			t.Errorf("%s: %s", name, v)
		}
	}
}
