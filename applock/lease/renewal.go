package lease

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// renewalsPerTTL is how often a lease is renewed within its TTL, so that two renewals may fail.
	renewalsPerTTL = 3
	// attemptsPerInterval is how many attempts fit between two renewals: two that meet dead connections then cost nothing. Later attempts, and
	// those to a slow backend, may take the whole interval.
	attemptsPerInterval = 3
	shortAttempts       = attemptsPerInterval - 1
	// retryAfter, which doc.go promises, limits the time from the beginning of a failed attempt to the next one.
	retryAfter = time.Second
	// After an attempt that timed out, no call begins for its limit, retryAfter at most, divided by quiet: a busy server may finish first what it
	// has (TestRenewalsGoBeforeNewGrants). With less than 6, a lease whose way takes a sixth of its TTL would not live through a dead connection
	// (TestLeasesOfASlowWay): 1/3 for the interval, 1/3 for the attempt, 1/15 of rest and 1/6 would be all of its trust, 9/10.
	quiet = 8
	// leastAttempt is the time of an attempt for a TTL of 3 s, the shortest that doc.go recommends.
	leastAttempt = 3 * time.Second / renewalsPerTTL / attemptsPerInterval
	// grantsPerCall is how many grants one call renews: as many as a busy server renews within leastAttempt. On two cores with ten busy processes
	// the median of such calls is 0.2 s on PostgreSQL and 0.3 s on MariaDB.
	grantsPerCall = 500
	// callsAtOnce is the number of concurrent calls if there is enough to do: a busy server shares its time among its connections. The tables
	// keep as many connections for renewals.
	callsAtOnce = 2
)

// attemptLimit is how long an attempt to renew the hold may take.
func (t *tenure) attemptLimit() time.Duration {
	if t.tries < shortAttempts {
		return min(max(t.hold.attempt(), 2*t.took), t.hold.interval)
	}
	return t.hold.interval
}

// attempt is the time of an attempt, a ninth of the TTL. What is due within that time goes along with a call.
func (h *hold) attempt() time.Duration { return h.interval / attemptsPerInterval }

// retryPause is the time from the beginning of a failed attempt to the next one.
func (h *hold) retryPause() time.Duration { return min(h.attempt(), retryAfter) }

// run renews what is due while there are holds. A call counts among callsAtOnce until it has an answer, or has taken so long that it may hang:
// TestHangingCallsKeepNobodyWaiting.
func (k *keeper) run() {
	calls := make(chan struct{}, callsAtOnce)
	for {
		calls <- struct{}{}
		next, pause, ok := k.next()
		if len(next.renewals) > 0 {
			leave := sync.OnceFunc(func() { <-calls })
			hangs := time.AfterFunc(next.patience, leave)
			k.leases.background.Go(func() {
				defer leave()
				defer hangs.Stop()
				k.renew(next)
			})
			continue
		}
		<-calls
		if !ok {
			return
		}
		select {
		case <-k.leases.stopped.Done():
		case <-k.woken:
		case <-time.After(pause):
		}
	}
}

// batch is the renewals of one call. No other call renews or hands over these grants until it is done.
type batch struct {
	holds    map[applock.Object]*hold
	renewals []Renewal
	limit    time.Duration
	// patience is the limit that an attempt for the shortest useful TTL would have.
	patience time.Duration
	// isLate is true if a hold has less than half of its term left.
	isLate bool
}

// next returns the next call, or the time until a hold is due. Without holds, and after Close, run ends.
//
// Together goes what is due within an attempt and has about the same limit, so that a short TTL does not hurry others
// (TestLateAnswersHarmNobody), nor do holds that are not late those whose attempts have failed.
func (k *keeper) next() (next batch, pause time.Duration, ok bool) {
	holds, unlock := k.lock()
	defer unlock()
	if holds.running = len(holds.due) > 0 && k.leases.stopped.Err() == nil; !holds.running {
		return batch{}, 0, false
	}
	first, now := holds.due[0], k.leases.now()
	if pause = max(first.due.Sub(now), holds.restUntil.Sub(now)); pause > 0 {
		return batch{}, pause, true
	}
	limit, soon := first.attemptLimit(), now.Add(first.hold.attempt())
	next = batch{holds: map[applock.Object]*hold{}, limit: limit, patience: max(leastAttempt, 2*first.took)}
	var seen []*tenure
	for len(holds.due) > 0 && !holds.due[0].due.After(soon) && len(seen) < grantsPerCall {
		t, _ := heap.Pop(&holds.due).(*tenure)
		seen = append(seen, t)
		if own := t.attemptLimit(); own <= 2*limit && limit <= 2*own {
			next.limit = min(next.limit, own)
			next.add(t, now)
		}
	}
	for _, t := range seen {
		heap.Push(&holds.due, t)
	}
	return next, 0, true
}

// add adds a hold to the batch, unless another call is changing it or its end has come. Such a hold is due again later.
func (b *batch) add(t *tenure, now time.Time) {
	h := t.hold
	t.due = now.Add(h.retryPause())
	term := t.left(now)
	if term <= 0 {
		return
	}
	select {
	case h.turn <- struct{}{}:
		t.due = now.Add(2 * h.interval) // the call is over by then
		t.tries++
		b.holds[h.grant.Object] = h
		b.renewals = append(b.renewals, Renewal{Grant: t.grant(), TTL: term})
		b.isLate = b.isLate || t.deadline.Sub(now) < term/2
	default: // another call is changing it
	}
}

// dueHeap is holds by the time when they are due, for container/heap. A hold knows its place in it.
type dueHeap []*tenure

func (d dueHeap) Len() int           { return len(d) }
func (d dueHeap) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d dueHeap) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *dueHeap) Push(added any) {
	t, _ := added.(*tenure)
	t.place = len(*d)
	*d = append(*d, t)
}

// Pop implements heap.Interface.
func (d *dueHeap) Pop() any {
	last := len(*d) - 1
	t := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return t
}

var errPassedOver = errors.New("other transactions are changing some of the locks")

// levelOf logs daily events on a lower level than failures.
func levelOf(err error) slog.Level {
	if errors.Is(err, errPassedOver) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// renew makes a call. An error is not a loss: the holds live until their deadlines, and are soon due again.
func (k *keeper) renew(batch batch) {
	l := k.leases
	ctx, cancel := context.WithTimeout(l.stopped, batch.limit)
	defer cancel()
	asked := l.now()
	if err := l.renewBatch(ctx, batch, asked); err != nil {
		l.logger.LogAttrs(l.stopped, levelOf(err), "leases could not be renewed, trying again", slog.Any("error", err))
	}
	holds, unlock := k.lock()
	defer unlock()
	defer k.wake()
	timedOut, moment := ctx.Err() != nil, min(batch.limit, retryAfter)
	if batch.isLate || timedOut {
		holds.putOffUntil = l.now().Add(moment)
	}
	again := l.now().Add(moment / quiet)
	if timedOut {
		holds.restUntil = again // a busy server may finish its calls before it gets new ones
	}
	if len(holds.due) > 0 && holds.due[0].due.Before(again) {
		again = holds.due[0].due.Add(-1) // before those that have waited for less time
	}
	for _, h := range batch.holds {
		<-h.turn // now other calls may renew or hand over the grant
		if t := &h.tenure; t.tries > 0 && t.cause == nil {
			if t.due = asked.Add(h.retryPause()); timedOut {
				t.due = again
			}
			heap.Fix(&holds.due, t.place)
		}
	}
}

// rest waits for a moment, or until ctx ends or Close begins.
func (l *Leases) rest(ctx context.Context, moment time.Duration) {
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-l.stopped.Done():
	}
}

// putOffFor is how long new acquisitions wait.
func (k *keeper) putOffFor() time.Duration {
	holds, unlock := k.lock()
	defer unlock()
	return holds.putOffUntil.Sub(k.leases.now())
}

func (l *Leases) renewBatch(ctx context.Context, batch batch, asked time.Time) error {
	answers, err := l.backend.Renew(ctx, batch.renewals)
	if err != nil {
		return err
	}
	terms := make(map[applock.Object]time.Duration, len(batch.renewals))
	for _, renewal := range batch.renewals {
		terms[renewal.Grant.Object] = renewal.TTL
	}
	for _, answer := range answers {
		l.note(batch.holds[answer.Object], answer, asked, terms[answer.Object])
	}
	if len(answers) < len(batch.renewals) {
		return errPassedOver
	}
	return nil
}

// note applies the answer for a hold.
func (l *Leases) note(h *hold, answer Renewed, asked time.Time, term time.Duration) {
	switch {
	case h == nil: // not in the batch
	case answer.Lost != nil:
		h.lose(answer.Lost)
	default:
		t, unlock := h.lock()
		defer unlock()
		t.renewed(asked, term, t.ends, answer)
	}
}
