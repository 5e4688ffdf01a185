package lease

import (
	"container/heap"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/applock/applock/applock"
)

// keeper keeps the holds of this program: it renews or checks them, and ends them at their deadlines.
type keeper struct {
	guarded[holds]

	leases *Leases
	check  time.Duration
	// checkIdle is how often leases without a TTL are checked, unless check is set.
	checkIdle time.Duration
	woken     chan struct{}
}

func newKeeper(leases *Leases, check time.Duration) *keeper {
	k := &keeper{leases: leases, check: max(check, 0), woken: make(chan struct{}, 1)}
	k.value = holds{keeper: k, live: map[*hold]struct{}{}}
	return k
}

// holds are what a keeper is reached by, with the live holds.
type holds struct {
	keeper *keeper
	live   map[*hold]struct{}
	// due are the live holds that have an interval. added counts them, with the former ones.
	due   dueHeap
	added int
	// running is true while there is a goroutine that renews what is due, watching while the clocks are compared.
	running, watching bool
	// prepared is when the backend was last asked for a connection for renewals.
	prepared time.Time
	// putOffUntil is when new acquisitions may go on, which late renewals delay, and restUntil when renewals may.
	putOffUntil, restUntil time.Time
}

// keep makes a hold, and its first lease. Its get was sent at started, and its grant arrived at arrived.
func (k *keeper) keep(ctx context.Context, claim claim, grant applock.Grant, started, arrived time.Time) (*hold, *handle) {
	term := granted(claim.term(), grant.Left)
	h := &hold{
		leases:  k.leases,
		maxHold: claim.maxHold,
		ttl:     min(claim.ttl, term), // renewals extend it in time
		unique:  claim.unique,
		asker:   context.WithoutCancel(ctx),
		turn:    make(chan struct{}, 1),
		grant:   grant,
		began:   arrived,
	}
	h.interval = k.intervalOf(h)
	holds, unlock := k.lock()
	defer unlock()
	t := &h.tenure
	*t = tenure{hold: h, holds: holds, expiresAt: grant.ExpiresAt, ends: started.Add(claim.maxHold), took: h.began.Sub(started), open: map[*handle]struct{}{}}
	t.trust(started, term)
	t.watchdog = time.AfterFunc(t.deadline.Sub(arrived), h.atDeadline)
	t.alarm = k.leases.hooks.alarm(h)
	holds.add(h, started)
	return h, t.lease(h.asker)
}

// add adds a hold. The first time it is due is at the end of its interval. If many begin in one moment, each grantsPerCall of them are due at
// another time of the interval: multiples of the golden ratio are spread evenly, however many there are.
func (k *holds) add(h *hold, started time.Time) {
	k.live[h] = struct{}{}
	if !k.watching {
		k.watching = true
		k.watchClocks()
	}
	l, t := k.keeper.leases, &h.tenure
	if l.stopped.Err() != nil {
		h.interval = 0
	}
	if h.interval == 0 {
		return
	}
	phase := math.Mod(float64(k.added/grantsPerCall)*math.Phi, 1)
	k.added++
	t.due = started.Add(time.Duration((1 - phase) * float64(h.interval)))
	heap.Push(&k.due, t)
	k.prepare(h)
	switch {
	case !k.running:
		k.running = true
		l.background.Go(k.keeper.run)
	case t.place == 0: // it is due before run looks by itself
		k.keeper.wake()
	}
}

// watchClocks checks after the machine has slept which holds are over or due, since the monotonic clock wakes timers late. It runs while there are
// leases.
func (k *holds) watchClocks() {
	l := k.keeper.leases
	before := l.slept()
	time.AfterFunc(clockCheck, func() {
		_, unlock := k.keeper.lock()
		defer unlock()
		if k.watching = len(k.live) > 0; !k.watching {
			return
		}
		if l.slept()-before > clockGap {
			for h := range k.live {
				h.tenure.watchdog.Reset(max(h.tenure.trustLeft(), 0))
			}
			k.keeper.wake()
		}
		k.watchClocks()
	})
}

// preparedFor, which doc.go promises, is how long a connection for renewals stays open unused.
const preparedFor = time.Minute

// preparer is a Backend that connects for renewals before the first of them.
type preparer interface {
	prepareToRenew(ctx context.Context) error
}

// prepare makes the backend open a connection for renewals in advance, since the network may be slow or the pool busy. The connection stays
// open unused for preparedFor.
func (k *holds) prepare(h *hold) {
	l := k.keeper.leases
	backend, ok := l.backend.(preparer)
	if !ok || h.ttl == 0 || h.interval >= preparedFor || time.Since(k.prepared) < preparedFor {
		return
	}
	k.prepared = time.Now()
	l.background.Go(func() {
		ctx, cancel := context.WithTimeout(l.stopped, preparedFor)
		defer cancel()
		if err := backend.prepareToRenew(ctx); err != nil && l.stopped.Err() == nil {
			l.logger.LogAttrs(ctx, slog.LevelWarn, "there is no spare connection for renewals: while the program uses all others, leases can be lost",
				slog.Any("error", err))
		}
	})
}

// wake has run look again at what is due.
func (k *keeper) wake() {
	select {
	case k.woken <- struct{}{}:
	default: // a wake is pending
	}
}

// intervalOf is how often a hold is renewed or checked, zero for never.
func (k *keeper) intervalOf(h *hold) time.Duration {
	switch {
	case h.ttl == 0 && k.check == 0:
		return k.checkIdle
	case h.ttl == 0:
		return k.check
	case k.check == 0:
		return h.ttl / renewalsPerTTL
	}
	return min(h.ttl/renewalsPerTTL, k.check)
}
