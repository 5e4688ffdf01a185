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

// pace renews or checks holds of similar intervals, the longest up to twice the shortest. Each hold is renewed at its own time, and no pace
// hurries or delays another. The mutex of Leases guards it. It has a goroutine while it has holds.
type pace struct {
	leases *Leases
	holds  map[*hold]struct{}
	added  int
	// size is how many grants one call has. took is how long the last answered call took, or a later slow get.
	size    int
	took    time.Duration
	running bool
	wake    chan struct{}
}

// keep adds a hold to its pace, if it is to be renewed or checked. Its get was sent at started; the mutex is held.
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
	p.took = max(p.took, now.Sub(started)) // a slow get means that renewals are slow, too
	if !p.running {
		p.running = true
		l.background.Go(p.run)
		return
	}
	p.nudge()
}

// preparer is a Backend that connects for renewals before the first of them.
type preparer interface {
	prepareToRenew(ctx context.Context) error
}

// prepare makes the backend open a connection for renewals in advance, since the network may be slow or the pool busy. The connection stays
// open unused for preparedFor; the mutex is held.
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

// nudge makes the pace check which renewals are due.
func (p *pace) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// hurry makes all holds due soon, after time that the timers have missed; the mutex is held.
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

// run renews what is due while there are holds.
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

// renewDue starts the calls for what is due, when there is room in calls. The last ones go on after it has returned.
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

// next returns when the first hold is due. Without holds the pace ends.
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

// batch is the renewals of one call. No other call changes these grants until it is done.
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
	for h := range p.holds { // add the holds that are due soon
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

// add adds a hold to the batch, unless another call is changing it or its end has come. Such a hold is due again later.
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
	default: // another call is changing it
	}
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

// fit adapts the size of calls. A call that took most of an attempt's time makes the next ones smaller, and a quick one makes them greater.
// They also grow when a round of all holds would take too long: a busy server is slow even for small calls, so smaller ones would renew
// fewer grants in the same time.
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

// putOff delays new acquisitions for a moment, because renewals are late. Held leases go first.
func (l *Leases) putOff(moment time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.putOffUntil = time.Now().Add(moment)
}

// afterRenewals waits once, for the moment of putOff. A new acquisition is delayed, but never refused.
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

// note applies the answer for a hold.
func (l *Leases) note(h *hold, answer Renewed, asked time.Time, term time.Duration) {
	switch {
	case h == nil: // not in the batch
	case answer.Lost != nil:
		h.lose(answer.Lost)
	default:
		l.mutex.Lock()
		defer l.mutex.Unlock()
		h.renewed(asked, term, answer)
	}
}

// done lets other calls change the grants.
func done(holds map[applock.Object]*hold) {
	for _, h := range holds {
		<-h.turn
	}
}
