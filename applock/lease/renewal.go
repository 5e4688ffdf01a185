package lease

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"math/bits"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// renewalsPerTTL is how often a lease is renewed within its TTL, so that two renewals may fail.
	renewalsPerTTL = 3
	// attemptsPerInterval is how many attempts fit between two renewals: two that meet dead connections then cost nothing. Later attempts, and
	// those to a slow backend, may take the whole interval.
	attemptsPerInterval = 3
	shortAttempts       = 2
	// retryAfter limits the time from the beginning of a failed attempt to the next one.
	retryAfter = time.Second
	// After an attempt that timed out, the next call waits for its limit divided by quiet.
	quiet = 8
	// phases is into how many parts of an interval renewals are spread. Renewals that are due within one part go together.
	phases = 8
	// firstCall is how many grants one call renews at first: as many as fit into the time of an attempt.
	firstCall = 500
	leastCall = 10
	mostCall  = 10_000
	// mostBehind is the most grants in one call when a round of all holds would take too long. A call that exceeds its limit may have done all
	// its work in vain.
	mostBehind = 2000
	// preparedFor is how long a connection for renewals stays open unused.
	preparedFor = time.Minute
	// callsAtOnce is the number of concurrent calls if there is enough to do: a busy server shares its time among its connections.
	callsAtOnce = 2
)

// keeper keeps the holds of this program: it renews or checks them, and ends them at their deadlines.
type keeper struct {
	guarded[holds]

	leases *Leases
	check  time.Duration
	// checkIdle is how often leases without a TTL are checked, unless check is set.
	checkIdle time.Duration
}

func newKeeper(leases *Leases, check time.Duration) *keeper {
	k := &keeper{leases: leases, check: max(check, 0)}
	k.value = holds{keeper: k, live: map[*hold]struct{}{}, paces: map[int]*pace{}}
	return k
}

// holds are what a keeper is reached by, with the live holds.
type holds struct {
	keeper *keeper
	live   map[*hold]struct{}
	paces  map[int]*pace
	// watching is true while the clocks are compared.
	watching bool
	// prepared is when the backend was last asked for a connection for renewals.
	prepared time.Time
	// putOffUntil is when new acquisitions may go on, which late renewals delay.
	putOffUntil time.Time
}

// pace renews or checks holds of similar intervals, the longest up to twice the shortest. Each hold is renewed at its own time, and no pace
// hurries or delays another. It has a goroutine while it has holds.
type pace struct {
	keeper *keeper
	woken  chan struct{}

	// The keeper's mutex guards the rest. holds is a heap, whose first is due first.
	holds dueHeap
	added int
	// size is how many grants one call has. took is how long the last answered call took, or a later slow get.
	size    int
	took    time.Duration
	running bool
}

// keep makes a hold, and its first lease. Its get was sent at started.
func (k *keeper) keep(ctx context.Context, claim claim, grant applock.Grant, started time.Time) (*hold, *handle) {
	term := granted(claim.term(), grant.Left)
	h := &hold{
		leases:  k.leases,
		maxHold: claim.maxHold,
		ttl:     min(claim.ttl, term), // renewals extend it in time
		unique:  claim.unique,
		asker:   context.WithoutCancel(ctx),
		turn:    make(chan struct{}, 1),
		grant:   grant,
		began:   k.leases.now(),
	}
	h.interval = k.intervalOf(h)
	holds, unlock := k.lock()
	defer unlock()
	t := &h.tenure
	*t = tenure{hold: h, holds: holds, expiresAt: grant.ExpiresAt, ends: started.Add(claim.maxHold), open: map[*handle]struct{}{}}
	t.trust(started, term)
	t.watchdog = time.AfterFunc(t.trustLeft(), h.atDeadline)
	t.alarm = k.leases.hooks.alarm(h)
	holds.add(h, started)
	return h, t.lease(h.asker)
}

// add adds a hold, and to its pace if it is to be renewed or checked.
func (k *holds) add(h *hold, started time.Time) {
	k.live[h] = struct{}{}
	if !k.watching {
		k.watching = true
		k.watchClocks()
	}
	l := k.keeper.leases
	if h.interval == 0 || l.stopped.Err() != nil {
		return
	}
	class := bits.Len64(uint64(h.interval)) //nolint:gosec // positive
	p := k.paces[class]
	if p == nil {
		p = &pace{keeper: k.keeper, size: firstCall, woken: make(chan struct{}, 1)}
		k.paces[class] = p
	}
	h.pace = p
	phase := time.Duration(p.added % phases)
	p.added++
	now := l.now()
	h.tenure.due = now.Add(h.interval - phase*h.interval/phases)
	if latest := started.Add(h.interval); latest.Before(h.tenure.due) {
		h.tenure.due = latest
	}
	heap.Push(&p.holds, &h.tenure)
	k.prepare(h)
	p.took = max(p.took, now.Sub(started)) // a slow get means that renewals are slow, too
	switch {
	case !p.running:
		p.running = true
		l.background.Go(p.run)
	case p.holds[0] == &h.tenure: // it is due before the pace wakes by itself
		p.wake()
	}
}

// watchClocks checks all watchdogs after the machine has slept, since the monotonic clock wakes them late. It runs while there are leases.
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
			k.hurry()
		}
		k.watchClocks()
	})
}

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

// wake makes the pace check which renewals are due.
func (p *pace) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // a wake is pending
	}
}

// hurry makes all holds due soon, after time that the timers have missed.
func (k *holds) hurry() {
	now := k.keeper.leases.now()
	for _, p := range k.paces {
		for _, t := range p.holds { // equal times keep the heap in order
			t.due = now
		}
		p.wake()
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

// attemptLimit is how long an attempt to renew the hold may take.
func (t *tenure) attemptLimit() time.Duration {
	h := t.hold
	if t.tries < shortAttempts {
		return min(max(h.interval/attemptsPerInterval, 2*h.pace.took), h.interval)
	}
	return h.interval
}

// run renews what is due while there are holds.
func (p *pace) run() {
	calls := make(chan struct{}, callsAtOnce)
	for {
		next, ok := p.next()
		if !ok {
			return
		}
		select {
		case <-p.keeper.leases.stopped.Done():
			return
		case <-p.woken:
			continue
		case <-time.After(next.Sub(p.keeper.leases.now())):
		}
		p.renewDue(calls)
	}
}

// renewDue starts the calls for what is due, when there is room in calls. The last ones go on after it has returned.
func (p *pace) renewDue(calls chan struct{}) {
	for {
		calls <- struct{}{}
		batch := p.due()
		if len(batch.renewals) == 0 {
			<-calls
			return
		}
		p.keeper.leases.background.Go(func() {
			defer func() { <-calls }()
			p.renew(batch)
		})
	}
}

// next returns when the first hold is due. Without holds the pace ends.
func (p *pace) next() (first time.Time, ok bool) {
	_, unlock := p.keeper.lock()
	defer unlock()
	if p.running = len(p.holds) > 0; p.running {
		first = p.holds[0].due
	}
	return first, p.running
}

// batch is the renewals of one call. No other call renews or hands over these grants until it is done.
type batch struct {
	holds    map[applock.Object]*hold
	renewals []Renewal
	limit    time.Duration
	interval time.Duration // the shortest of the holds'
	// isLate is true if a hold has less than half of its term left.
	isLate bool
}

// due returns the next batch: each hold for its ttl, but not beyond its end. Holds whose attempts have failed go separately, with more
// time.
func (p *pace) due() batch {
	_, unlock := p.keeper.lock()
	defer unlock()
	now := p.keeper.leases.now()
	if len(p.holds) == 0 || p.holds[0].due.After(now) {
		return batch{}
	}
	first := p.holds[0]
	soon := now.Add(first.hold.interval / phases)
	stubborn := first.tries >= shortAttempts
	next := batch{holds: map[applock.Object]*hold{}, limit: first.attemptLimit(), interval: first.hold.interval}
	var seen []*tenure
	for len(p.holds) > 0 && !p.holds[0].due.After(soon) && len(next.renewals) < p.size {
		t, _ := heap.Pop(&p.holds).(*tenure)
		seen = append(seen, t)
		if stubborn == (t.tries >= shortAttempts) {
			next.add(t, now)
		}
	}
	for _, t := range seen {
		heap.Push(&p.holds, t)
	}
	return next
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
		t.tries++
		b.holds[h.grant.Object] = h
		b.renewals = append(b.renewals, Renewal{Grant: t.grant(), TTL: term})
		b.limit, b.interval = min(b.limit, t.attemptLimit()), min(b.interval, h.interval)
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

func (h *hold) retryPause() time.Duration { return min(h.interval/attemptsPerInterval, retryAfter) }

var errPassedOver = errors.New("other transactions are changing some of the locks")

// levelOf logs daily events on a lower level than failures.
func levelOf(err error) slog.Level {
	if errors.Is(err, errPassedOver) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// renew makes a call. An error is not a loss: the holds live until their deadlines, and are soon due again.
func (p *pace) renew(batch batch) {
	l := p.keeper.leases
	ctx, cancel := context.WithTimeout(l.stopped, batch.limit)
	defer cancel()
	asked := l.now()
	err := l.renewBatch(ctx, batch, asked)
	p.fit(batch, l.now().Sub(asked), err == nil || errors.Is(err, errPassedOver))
	if batch.isLate || ctx.Err() != nil {
		p.keeper.putOff(min(batch.interval/attemptsPerInterval, retryAfter))
	}
	if err != nil {
		l.logger.LogAttrs(l.stopped, levelOf(err), "leases could not be renewed, trying again", slog.Any("error", err))
	}
	if ctx.Err() != nil { // let a busy server finish its calls before it gets new ones
		l.rest(l.stopped, batch.limit/quiet)
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

// fit adapts the size of calls. A slow call, which took most of an attempt's time, makes the next ones smaller, and a quick one makes them
// greater. They also grow when a round of all holds would take too long: a busy server is slow even for small calls, so smaller ones would
// renew fewer grants in the same time.
func (p *pace) fit(batch batch, took time.Duration, answered bool) {
	_, unlock := p.keeper.lock()
	defer unlock()
	if answered {
		p.took = took
	}
	grants := len(batch.renewals)
	isFull, isQuick, isSlow := grants == p.size, took < batch.limit/8, took > batch.limit/2
	round := took * time.Duration(len(p.holds)) / time.Duration(grants)
	isBehind := answered && took < batch.interval/attemptsPerInterval && round > batch.interval/2
	switch {
	case isFull && isBehind && p.size < mostBehind:
		p.size = min(2*p.size, mostBehind)
	case isFull && isQuick:
		p.size = min(2*p.size, mostCall)
	case isSlow && isBehind && grants > mostBehind:
		p.size = mostBehind
	case isSlow && !isBehind && grants > leastCall:
		p.size = max(grants/2, leastCall)
	}
}

// putOff delays new acquisitions for a moment, because renewals are late. Held leases go first.
func (k *keeper) putOff(moment time.Duration) {
	holds, unlock := k.lock()
	defer unlock()
	holds.putOffUntil = time.Now().Add(moment)
}

// putOffFor is how long new acquisitions wait.
func (k *keeper) putOffFor() time.Duration {
	holds, unlock := k.lock()
	defer unlock()
	return time.Until(holds.putOffUntil)
}

func (l *Leases) renewBatch(ctx context.Context, batch batch, asked time.Time) error {
	defer done(batch.holds)
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

// done lets other calls renew or hand over the grants.
func done(holds map[applock.Object]*hold) {
	for _, h := range holds {
		<-h.turn
	}
}
