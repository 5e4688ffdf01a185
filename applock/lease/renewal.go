package lease

import (
	"context"
	"errors"
	"log/slog"
	"math/bits"
	"slices"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// renewalsPerTTL is how often a lease is renewed in the time that a renewal lasts, so that two may fail.
	renewalsPerTTL = 3
	// attemptsPerInterval is into how many the time between two renewals is divided: one attempt takes no longer, so that
	// two that meet dead connections cost nothing. Later ones may take as long as the interval, and so may those to a backend
	// that is known to be slow.
	attemptsPerInterval = 3
	shortAttempts       = 2
	// retryAfter bounds the pause from the beginning of an attempt that failed to the next one.
	retryAfter = time.Second
	// quiet is the share of an attempt that ran out of time for which the next call waits.
	quiet = 8
	// phases is the number of moments of an interval over which the renewals of many leases are spread. Renewals that are due
	// within one of them go together.
	phases = 8
	// firstCall is how many grants are renewed by one call at first: as many as fit into the time of an attempt.
	firstCall = 500
	leastCall = 10
	mostCall  = 10_000
	// mostBehind is the most by one call where a round of all holds would last too long: one that takes longer than an attempt
	// may costs all that it has done.
	mostBehind = 2000
	// preparedFor is for how long a connection for renewals is there without being used.
	preparedFor = time.Minute
	// callsAtOnce is how many calls are under way at a time, if there is so much to do: a busy server shares its time among its
	// connections.
	callsAtOnce = 2
)

// pace renews or checks the holds of similar intervals: those of up to twice the least. Each is renewed at its own time, so
// that neither a short TTL nor a failure of some hurries or delays those of other paces. The mutex of Leases guards it; it
// has a goroutine while it has holds.
type pace struct {
	leases *Leases
	holds  map[*hold]struct{}
	added  int
	// size is how many grants one call is for, and took how long the last one took that was answered, or a later grant.
	size    int
	took    time.Duration
	running bool
	wake    chan struct{}
}

// keep has a hold renewed or checked, if it needs that, whose grant was asked for at started; the mutex is held.
func (l *Leases) keep(h *hold, started time.Time) {
	h.interval = l.intervalOf(h)
	if h.interval == 0 || l.closed {
		return
	}
	class := bits.Len64(uint64(h.interval)) //nolint:gosec // positive
	p := l.paces[class]
	if p == nil {
		p = &pace{leases: l, holds: map[*hold]struct{}{}, size: firstCall, wake: make(chan struct{}, 1)}
		l.paces[class] = p
	}
	h.pace = p
	p.holds[h] = struct{}{}
	phase := time.Duration(p.added % phases)
	p.added++
	now := l.now()
	h.due = now.Add(h.interval - phase*h.interval/phases)
	if latest := started.Add(h.interval); latest.Before(h.due) {
		h.due = latest
	}
	l.prepare(h)
	p.took = max(p.took, now.Sub(started)) // a slow grant tells of a slow way
	if !p.running {
		p.running = true
		l.background.Go(p.run)
		return
	}
	p.nudge()
}

// preparer is a Backend that makes what renewals need before the first of them.
type preparer interface {
	prepareToRenew(ctx context.Context) error
}

// prepare makes the backend open a connection for renewals while there is time: the network may be slow, or the pool busy. The
// connection stays open for preparedFor without being used; the mutex is held.
func (l *Leases) prepare(h *hold) {
	backend, ok := l.backend.(preparer)
	if !ok || h.ttl == 0 || h.interval >= preparedFor || time.Since(l.prepared) < preparedFor {
		return
	}
	l.prepared = time.Now()
	l.background.Go(func() {
		ctx, cancel := context.WithTimeout(l.stopped, preparedFor)
		defer cancel()
		if err := backend.prepareToRenew(ctx); err != nil && l.stopped.Err() == nil {
			l.logger.LogAttrs(ctx, slog.LevelWarn, "there is no spare connection for renewals: while the program uses all others, leases can be lost",
				slog.Any("error", err))
		}
	})
}

// nudge makes the pace look for renewals that are due.
func (p *pace) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// hurry has all holds renewed soon, because time has passed that nobody has noticed; the mutex is held.
func (l *Leases) hurry() {
	for _, p := range l.paces {
		for h := range p.holds {
			h.due = l.now()
		}
		p.nudge()
	}
}

// intervalOf is how often a hold is renewed or checked, zero for never.
func (l *Leases) intervalOf(h *hold) time.Duration {
	switch {
	case h.ttl == 0 && l.check == 0:
		return l.checkIdle
	case h.ttl == 0:
		return l.check
	case l.check == 0:
		return h.ttl / renewalsPerTTL
	}
	return min(h.ttl/renewalsPerTTL, l.check)
}

// attemptLimit is how long an attempt to renew the hold may take.
func (h *hold) attemptLimit() time.Duration {
	if h.tries < shortAttempts {
		return min(max(h.interval/attemptsPerInterval, 2*h.pace.took), h.interval)
	}
	return h.interval
}

// run renews what is due as long as there are holds.
func (p *pace) run() {
	calls := make(chan struct{}, callsAtOnce)
	for {
		next, ok := p.next()
		if !ok {
			return
		}
		select {
		case <-p.leases.stopped.Done():
			return
		case <-p.wake:
			continue
		case <-time.After(next.Sub(p.leases.now())):
		}
		p.renewDue(calls)
	}
}

// renewDue makes the calls for what is due, of which the last ones go on after it has returned. It waits for room in calls.
func (p *pace) renewDue(calls chan struct{}) {
	for {
		calls <- struct{}{}
		batch := p.due()
		if len(batch.renewals) == 0 {
			<-calls
			return
		}
		p.leases.background.Go(func() {
			defer func() { <-calls }()
			p.renew(batch)
		})
	}
}

// next returns when the first hold is due. Without any the pace has ended.
func (p *pace) next() (first time.Time, ok bool) {
	p.leases.mutex.Lock()
	defer p.leases.mutex.Unlock()
	for h := range p.holds {
		if !ok || h.due.Before(first) {
			first, ok = h.due, true
		}
	}
	p.running = ok
	return first, ok
}

// batch is what one call renews. No other call changes these grants until it is done.
type batch struct {
	holds    map[applock.Object]*hold
	renewals []Renewal
	limit    time.Duration
	interval time.Duration // the least of the holds'
	// isLate is true if one of them has less left than half of what it is to get.
	isLate bool
}

// due returns the next batch that is due: each hold for its ttl, but not beyond its end. Those whose attempts have failed
// are by themselves, with more time.
func (p *pace) due() batch {
	p.leases.mutex.Lock()
	defer p.leases.mutex.Unlock()
	now := p.leases.now()
	var due []*hold
	for h := range p.holds {
		if !h.due.After(now) {
			due = append(due, h)
		}
	}
	if len(due) == 0 {
		return batch{}
	}
	for h := range p.holds { // what would be due in a moment goes with them
		if h.due.After(now) && !h.due.After(now.Add(h.interval/phases)) {
			due = append(due, h)
		}
	}
	slices.SortFunc(due, func(a, b *hold) int { return a.due.Compare(b.due) })
	next := batch{holds: map[applock.Object]*hold{}, limit: due[0].attemptLimit(), interval: due[0].interval}
	stubborn := due[0].tries >= shortAttempts
	for _, h := range due {
		if len(next.renewals) == p.size {
			break
		}
		if stubborn != (h.tries >= shortAttempts) {
			continue
		}
		next.add(h, now)
	}
	return next
}

// add takes a hold into the batch, unless a call is changing it or it is at its end: then it is due later.
func (b *batch) add(h *hold, now time.Time) {
	h.due = now.Add(h.retryPause())
	term := h.leftLocked(now)
	if term <= 0 {
		return
	}
	select {
	case h.turn <- struct{}{}:
		h.tries++
		b.holds[h.grant.Object] = h
		b.renewals = append(b.renewals, Renewal{Grant: h.grant, TTL: term})
		b.limit, b.interval = min(b.limit, h.attemptLimit()), min(b.interval, h.interval)
		b.isLate = b.isLate || h.deadline.Sub(now) < term/2
	default: // a call is changing it
	}
}

func (h *hold) retryPause() time.Duration { return min(h.interval/attemptsPerInterval, retryAfter) }

var errPassedOver = errors.New("other transactions are changing some of the locks")

// levelOf tells what is wrong from what happens every day.
func levelOf(err error) slog.Level {
	if errors.Is(err, errPassedOver) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// renew makes a call. An error is not a loss: the holds live until their deadlines, and are due again soon.
func (p *pace) renew(batch batch) {
	l := p.leases
	ctx, cancel := context.WithTimeout(l.stopped, batch.limit)
	defer cancel()
	asked := l.now()
	err := l.renewBatch(ctx, batch, asked)
	p.fit(batch, l.now().Sub(asked), err == nil || errors.Is(err, errPassedOver))
	if batch.isLate || ctx.Err() != nil {
		l.putOff(min(batch.interval/attemptsPerInterval, retryAfter))
	}
	if err != nil {
		l.logger.LogAttrs(l.stopped, levelOf(err), "leases could not be renewed, trying again", slog.Any("error", err))
	}
	if ctx.Err() != nil { // what is under way on a busy server ends first, while nothing new begins
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

// fit makes calls smaller that nearly took the time of an attempt, and those greater that took little of it. It makes them
// greater, too, where a round of all holds would last too long at their pace. A busy server is slow to answer even small calls,
// and these would then renew fewer grants in the same time.
func (p *pace) fit(batch batch, took time.Duration, answered bool) {
	p.leases.mutex.Lock()
	defer p.leases.mutex.Unlock()
	grants := len(batch.renewals)
	if answered {
		p.took = took
	}
	isBehind := answered && took < batch.interval/attemptsPerInterval &&
		took*time.Duration(len(p.holds)) > batch.interval/2*time.Duration(grants)
	switch {
	case grants == p.size && isBehind && p.size < mostBehind:
		p.size = min(2*p.size, mostBehind)
	case grants == p.size && took < batch.limit/8:
		p.size = min(2*p.size, mostCall)
	case isBehind && took > batch.limit/2 && grants > mostBehind:
		p.size = mostBehind
	case !isBehind && took > batch.limit/2 && grants > leastCall:
		p.size = max(grants/2, leastCall)
	}
}

// putOff has new grants wait for a moment, because renewals come late: what is held goes before what is wanted.
func (l *Leases) putOff(moment time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.putOffUntil = time.Now().Add(moment)
}

// afterRenewals waits for the moment of putOff, once: a new acquisition is delayed, but never refused.
func (l *Leases) afterRenewals(ctx context.Context) {
	l.mutex.Lock()
	moment := time.Until(l.putOffUntil)
	l.mutex.Unlock()
	if moment > 0 {
		l.rest(ctx, moment)
	}
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

// note notes what became of a hold.
func (l *Leases) note(h *hold, answer Renewed, asked time.Time, term time.Duration) {
	switch {
	case h == nil: // nobody has asked
	case answer.Lost != nil:
		h.lose(answer.Lost)
	default:
		l.mutex.Lock()
		defer l.mutex.Unlock()
		h.renewed(asked, term, answer)
	}
}

// done lets others change the grants again.
func done(holds map[applock.Object]*hold) {
	for _, h := range holds {
		<-h.turn
	}
}
