package lease

import (
	"slices"
	"time"
)

// way is how long calls take. The quickest of a while shows how long the network takes, since some call always meets an idle server.
type way struct {
	polls  [5]time.Duration
	polled int
	// quickest is the quickest call since began, and former that of the time before, zero for none.
	quickest, former time.Duration
	began            time.Time
}

// aWhile is half a minute: servers are seldom busy for longer without a moment of rest.
const aWhile = 30 * time.Second

func (w *way) add(took time.Duration) {
	if time.Since(w.began) >= aWhile {
		w.former, w.quickest, w.began = w.quickest, took, time.Now()
	}
	w.quickest = min(w.quickest, took)
}

func (w *way) addPoll(took time.Duration) {
	w.polls[w.polled%len(w.polls)] = took
	w.polled++
}

// least is how long a call takes at least.
func (w *way) least() time.Duration {
	if w.former == 0 {
		return w.quickest
	}
	return min(w.quickest, w.former)
}

// poll is how long the typical poll takes: the median, which a single slow one does not change.
func (w *way) poll() time.Duration {
	known := slices.Sorted(slices.Values(w.polls[:min(w.polled, len(w.polls))]))
	if len(known) == 0 {
		return 0
	}
	return known[(len(known)-1)/2]
}

// slowestPoll is how long the slowest of the last polls took.
func (w *way) slowestPoll() time.Duration { return slices.Max(w.polls[:]) }
