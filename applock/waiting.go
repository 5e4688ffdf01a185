package applock

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/internal/db"
)

// hub wakes the waiters of one Leases when their objects could be free. There is one poller for all of them, which
// asks for all objects in one call, and, where the backend has one, one listener for messages. All of that is hints:
// whoever is woken asks for itself.
//
// Without a listener the poller asks every 10 ms at first, and ever more rarely the longer nothing happens: a waiter is
// late by a thousandth of its wait, and by 250 ms at the most. With a listener it asks to be on the safe side: soon
// after each newcomer, because a release may not have seen it waiting, and then ever more rarely, up to 5 s. In any
// case it asks when the next lock expires, and spends no more than a twenty-fifth of the time on asking.
type hub struct {
	leases *Leases

	mutex    sync.Mutex
	objects  map[Object]int     // how many wait for it
	rows     map[rowKey]*listed // who is listed as waiting
	polling  bool
	changed  time.Time // when something happened last: a newcomer, or an object that was free
	hearing  int       // how many listeners get messages
	newcomer chan struct{}
}

// rowKey is what a backend lists a waiter by.
type rowKey struct {
	object   Object
	operator string
}

// listed counts those who wait under one name. Its mutex lets in one call at a time, so that the row is there while
// somebody waits, and until is when the last of them gives up.
type listed struct {
	mutex   sync.Mutex
	waiting int
	until   time.Time
	forever bool
}

// extend returns for how long the row is to be listed when one more waits; the mutex is held.
func (l *listed) extend(wait time.Duration) time.Duration {
	if l.forever = l.forever || wait == forever; l.forever {
		return forever
	}
	if until := time.Now().Add(wait); until.After(l.until) {
		l.until = until
	}
	return time.Until(l.until)
}

const (
	pollFastest  = 10 * time.Millisecond
	pollSlowest  = 250 * time.Millisecond
	pollSafe     = 5 * time.Second  // with a listener
	pollSlowdown = 1000             // the time without any event is so many intervals long
	pollSafeSlow = 2                // with a listener
	pollFree     = time.Millisecond // of a poll's time does not count
	pollCost     = 25               // a poll's share of the time is one of these
	newcomerCost = 4                // and one of these while newcomers arrive
	pollLimit    = 10 * time.Second
	pollPatience = 30 * time.Second
	pollFailure  = time.Second
	lingering    = 10 * time.Second // how long the poller and its listener stay when nobody waits
	relisten     = 10 * time.Second
	retractAgain = time.Second
	stale        = time.Second // a message may be so old
	jitter       = 0.2
)

func newHub(leases *Leases) *hub {
	return &hub{leases: leases, objects: map[Object]int{}, rows: map[rowKey]*listed{}, newcomer: make(chan struct{}, 1)}
}

// add has the claim's object looked after until remove, which must be called in any case.
func (h *hub) add(ctx context.Context, claim claim, wait time.Duration) error {
	h.mutex.Lock()
	h.objects[claim.object]++
	h.changed = time.Now()
	if backend, ok := h.leases.backend.(Poller); ok && !h.polling {
		h.polling = true
		h.leases.background.Go(func() { h.run(backend) })
	}
	h.mutex.Unlock()
	defer h.hurry()
	backend, ok := h.leases.backend.(announcer)
	if !ok {
		return nil
	}
	row := h.row(claim, +1)
	row.mutex.Lock()
	defer row.mutex.Unlock()
	wait = row.extend(wait)
	listed := make(chan error, 1)
	go func() { listed <- backend.announce(ctx, claim.object, claim.owner, wait) }() // a database client's deep stack is not to stay
	return <-listed
}

// row counts a waiter in or out.
func (h *hub) row(claim claim, change int) *listed {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	key := rowKey{object: claim.object, operator: claim.owner.Operator}
	row := h.rows[key]
	if row == nil {
		row = new(listed)
		h.rows[key] = row
	}
	row.waiting += change
	return row
}

func (h *hub) remove(claim claim) {
	h.mutex.Lock()
	h.objects[claim.object]--
	if h.objects[claim.object] == 0 {
		delete(h.objects, claim.object)
	}
	h.mutex.Unlock()
	backend, ok := h.leases.backend.(announcer)
	if !ok {
		return
	}
	h.row(claim, -1)
	h.later(func() { h.retract(backend, claim) })
}

// later runs a chore that nobody waits for, unless there are too many.
func (h *hub) later(chore func()) {
	if !h.leases.chores.add(&h.leases.background, chore) {
		chore()
	}
}

// retract takes a waiter off the list, unless somebody waits under the same name again. It repeats what fails: polls
// would keep the row listed.
func (h *hub) retract(backend announcer, claim claim) {
	row := h.row(claim, 0)
	row.mutex.Lock()
	defer row.mutex.Unlock()
	if !h.isUnused(row) {
		return
	}
	ctx, cancel := context.WithTimeout(h.leases.farewell, releaseLimit)
	defer cancel()
	if err := backend.retract(ctx, claim.object, claim.owner.Operator); err != nil {
		time.AfterFunc(retractAgain, func() {
			if h.leases.stopped.Err() == nil {
				h.later(func() { h.retract(backend, claim) })
			}
		})
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if row.waiting == 0 {
		delete(h.rows, rowKey{object: claim.object, operator: claim.owner.Operator})
	}
}

func (h *hub) isUnused(row *listed) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return row.waiting == 0
}

// hurry has the poller ask soon.
func (h *hub) hurry() {
	select {
	case h.newcomer <- struct{}{}:
	default: // the poller has been told
	}
}

// waited returns the objects that somebody waits for.
func (h *hub) waited() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		h.mutex.Lock()
		objects := make([]Object, 0, len(h.objects))
		for object := range h.objects {
			objects = append(objects, object)
		}
		h.mutex.Unlock()
		slices.Values(objects)(yield)
	}
}

// run polls while somebody waits, and a little longer, for the next one.
func (h *hub) run(backend Poller) {
	ctx, cancel := context.WithCancel(h.leases.stopped)
	defer cancel()
	if source, ok := h.leases.backend.(notifier); ok {
		h.leases.background.Go(func() { h.listen(ctx, source) })
	}
	var failing time.Time // since when
	for {
		began := time.Now()
		next, err := h.poll(ctx, backend, &failing)
		cost := time.Since(began)
		if !h.sleep(ctx, h.pause(cost, next, err), cost*newcomerCost) {
			return
		}
	}
}

// poll asks once and wakes those whose objects could be free. It returns when to ask again at the latest.
func (h *hub) poll(ctx context.Context, backend Poller, failing *time.Time) (time.Duration, error) {
	h.mutex.Lock()
	idle := len(h.objects) == 0
	h.mutex.Unlock()
	if idle {
		return forever, nil
	}
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	free, next, err := backend.Poll(limited, h.waited())
	if err != nil {
		h.failed(ctx, failing, err)
		return pollFailure, err
	}
	*failing = time.Time{}
	for _, object := range free {
		h.leases.nudge(object, asked)
	}
	h.note(free)
	if next == 0 {
		next = forever
	}
	return next, nil
}

// note remembers that something has happened, if one of the objects is still waited for.
func (h *hub) note(free []Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if slices.ContainsFunc(free, func(object Object) bool { return h.objects[object] > 0 }) {
		h.changed = time.Now()
	}
}

// failed has the waiters find out for themselves, and tell their callers, when polls have failed for long.
func (h *hub) failed(ctx context.Context, failing *time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	if failing.IsZero() {
		*failing = time.Now()
	}
	h.leases.logger.LogAttrs(ctx, slog.LevelWarn, "cannot ask for the awaited objects, trying again", slog.Any("error", err))
	if time.Since(*failing) < pollPatience {
		return
	}
	for object := range h.waited() {
		h.leases.nudge(object, *failing)
	}
}

// pause is how long the poller sleeps after a poll.
func (h *hub) pause(cost, next time.Duration, err error) time.Duration {
	if err != nil {
		return pollFailure
	}
	h.mutex.Lock()
	quiet := time.Since(h.changed)
	pause := min(max(quiet/pollSlowdown, pollFastest), pollSlowest)
	if h.hearing > 0 {
		pause = min(max(quiet/pollSafeSlow, 2*pollFastest), pollSafe)
	}
	if len(h.objects) == 0 {
		pause = lingering
	}
	h.mutex.Unlock()
	pause = time.Duration(float64(pause) * (1 - jitter + 2*jitter*rand.Float64())) //nolint:gosec // no secret
	return max(min(pause, next), min((cost-pollFree)*pollCost, pollSafe))
}

// sleep waits for the pause to end, or for a newcomer, and others that come shortly after. It returns false when the
// poller is to end.
func (h *hub) sleep(ctx context.Context, pause, gathering time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-h.newcomer:
		timer.Reset(min(gathering, pause))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	case <-timer.C:
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if ctx.Err() == nil && (len(h.objects) > 0 || time.Since(h.changed) < lingering) {
		return true
	}
	h.polling = false
	return false
}

// listen wakes those whose objects are said to be free. It connects again when the connection is lost.
func (h *hub) listen(ctx context.Context, backend notifier) {
	for ctx.Err() == nil {
		source, err := backend.listen(ctx)
		if errors.Is(err, db.ErrNoListen) {
			return
		}
		if err == nil {
			err = h.hear(ctx, source)
		}
		if ctx.Err() == nil {
			h.leases.logger.LogAttrs(ctx, slog.LevelInfo, "no messages of releases: polling", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(relisten):
		}
	}
}

func (h *hub) hear(ctx context.Context, source releases) error {
	defer func() { _ = source.Close() }() // it is of no use any more
	h.hears(+1)
	defer h.hears(-1)
	for {
		text, err := source.Next(ctx)
		if err != nil {
			return err
		}
		if object, err := ParseObject(text); err == nil {
			h.leases.nudge(object, time.Now().Add(-stale))
		}
	}
}

// hears counts the listeners, and has the poller ask at once: messages may have been lost in between.
func (h *hub) hears(change int) {
	h.mutex.Lock()
	h.hearing += change
	h.changed = time.Now()
	h.mutex.Unlock()
	h.hurry()
}
