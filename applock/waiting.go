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
	objects  map[Object]int          // how many wait for it
	listings map[listingKey]*listing // who is listed as waiting
	polling  bool
	changed  time.Time // when something happened last: a newcomer, or an object that was free
	hearing  int       // how many listeners get messages
	newcomer chan struct{}
	// random returns a number from 0 to 1, for the jitter.
	random func() float64
}

// listingKey is what a backend lists a waiter by.
type listingKey struct {
	object   Object
	operator string
}

// listing counts those who wait under one name. Its turn lets in one call at a time, so that the backend lists the name
// while somebody waits. The mutex of the hub guards waiting; until and unlimited belong to whoever has the turn.
type listing struct {
	turn    chan struct{}
	waiting int
	// until is when the last of them gives up, unless one of them waits without a limit.
	until     time.Time
	unlimited bool
}

// enter waits for the turn, and returns false when ctx ends first.
func (l *listing) enter(ctx context.Context) bool {
	select {
	case l.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave ends the turn.
func (l *listing) leave() { <-l.turn }

// extend returns for how long the name is to be listed when one more waits, zero for no limit.
func (l *listing) extend(wait time.Duration) time.Duration {
	if l.unlimited = l.unlimited || wait == forever; l.unlimited {
		return 0
	}
	if until := time.Now().Add(wait); until.After(l.until) {
		l.until = until
	}
	return max(time.Until(l.until), 1) // zero would be no limit
}

const (
	pollFastest  = 10 * time.Millisecond
	pollSlowest  = 250 * time.Millisecond
	pollSafe     = 5 * time.Second // with a listener
	pollSlowdown = 1000            // the time without any event is so many intervals long
	pollSafeSlow = 2               // with a listener

	// maxPollShare is a poll's share of the time: the pause after it is at least its cost divided by this. The first
	// millisecond of a poll, pollFree, costs nothing.
	maxPollShare = 1.0 / 25
	pollFree     = time.Millisecond
	// newcomerShare is the same while newcomers arrive, who are gathered for a common poll.
	newcomerShare = 1.0 / 4

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
	return &hub{
		leases:   leases,
		objects:  map[Object]int{},
		listings: map[listingKey]*listing{},
		newcomer: make(chan struct{}, 1),
		random:   rand.Float64,
	}
}

// add has the claim's object looked after until remove, which must be called in any case.
func (h *hub) add(ctx context.Context, claim claim, wait time.Duration) error {
	h.watch(claim.object)
	defer h.wakePoller()
	backend, ok := h.leases.backend.(Announcer)
	if !ok {
		return nil
	}
	return h.announce(ctx, backend, claim, wait)
}

// watch has the poller ask for one more waiter.
func (h *hub) watch(object Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.objects[object]++
	h.changed = time.Now()
	if backend, ok := h.leases.backend.(Poller); ok && !h.polling {
		h.polling = true
		h.leases.background.Go(func() { h.run(backend) })
	}
}

// announce lists a waiter. When ctx ends first, the call is not broken off, because the backend might list the waiter
// after its retraction then: it goes on for a while, and keeps the turn.
func (h *hub) announce(ctx context.Context, backend Announcer, claim claim, wait time.Duration) error {
	waiting, cancel := endingWith(ctx, h.leases.stopped)
	defer cancel()
	listing := h.count(claim, +1)
	if !listing.enter(waiting) {
		return context.Cause(waiting)
	}
	wait = listing.extend(wait)
	calling, breakOff := h.leases.untilShutdown(context.WithoutCancel(ctx))
	answer := make(chan error, 1)
	h.leases.background.Go(func() { // of its own, because a database client's deep stack is not to stay with the waiter
		defer breakOff()
		defer listing.leave()
		answer <- backend.Announce(calling, claim.object, claim.owner, wait)
	})
	select {
	case err := <-answer:
		return err
	case <-waiting.Done():
		time.AfterFunc(releaseLimit, breakOff)
		return context.Cause(waiting)
	}
}

// count counts a waiter in or out, or neither, and returns the listing of its name.
func (h *hub) count(claim claim, change int) *listing {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	key := listingKey{object: claim.object, operator: claim.owner.Operator}
	found := h.listings[key]
	if found == nil {
		found = &listing{turn: make(chan struct{}, 1)}
		h.listings[key] = found
	}
	found.waiting += change
	return found
}

func (h *hub) remove(claim claim) {
	h.mutex.Lock()
	h.objects[claim.object]--
	if h.objects[claim.object] == 0 {
		delete(h.objects, claim.object)
	}
	h.mutex.Unlock()
	backend, ok := h.leases.backend.(Announcer)
	if !ok {
		return
	}
	h.count(claim, -1)
	h.later(func() { h.retract(backend, claim) })
}

// later runs a cleanup that nobody waits for, unless there are too many.
func (h *hub) later(cleanup func()) {
	if !h.leases.cleanups.add(&h.leases.background, cleanup) {
		cleanup()
	}
}

// retract takes a waiter off the list, unless somebody waits under the same name again. It repeats what fails: polls
// would keep the name listed.
func (h *hub) retract(backend Announcer, claim claim) {
	ctx, cancel := context.WithTimeout(h.leases.shutdownCtx, releaseLimit)
	defer cancel()
	listing := h.count(claim, 0)
	if !listing.enter(ctx) {
		h.retractLater(backend, claim)
		return
	}
	defer listing.leave()
	if !h.isUnused(listing) {
		return
	}
	if err := backend.Retract(ctx, claim.object, claim.owner.Operator); err != nil {
		h.retractLater(backend, claim)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if listing.waiting == 0 {
		delete(h.listings, listingKey{object: claim.object, operator: claim.owner.Operator})
	}
}

// retractLater has a retraction repeated, unless Close has begun.
func (h *hub) retractLater(backend Announcer, claim claim) {
	time.AfterFunc(retractAgain, func() {
		if h.leases.stopped.Err() == nil {
			h.later(func() { h.retract(backend, claim) })
		}
	})
}

func (h *hub) isUnused(listing *listing) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return listing.waiting == 0
}

// wakePoller has the poller ask soon.
func (h *hub) wakePoller() {
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
	if source, ok := h.leases.backend.(Notifier); ok {
		h.leases.background.Go(func() { h.listen(ctx, source) })
	}
	var failing time.Time // since when
	for {
		began := time.Now()
		next, err := h.poll(ctx, backend, &failing)
		cost := time.Since(began)
		if !h.sleep(ctx, h.pause(cost, next, err), time.Duration(float64(cost)/newcomerShare)) {
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
	pause = time.Duration(float64(pause) * (1 - jitter + 2*jitter*h.random()))
	return max(min(pause, next), min(time.Duration(float64(cost-pollFree)/maxPollShare), pollSafe))
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
func (h *hub) listen(ctx context.Context, backend Notifier) {
	for ctx.Err() == nil {
		source, err := backend.Listen(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
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

func (h *hub) hear(ctx context.Context, source Releases) error {
	defer func() { _ = source.Close() }() // it is of no use any more
	h.hears(+1)
	defer h.hears(-1)
	for {
		object, err := source.Next(ctx)
		if err != nil {
			return err
		}
		h.leases.nudge(object, time.Now().Add(-stale))
	}
}

// hears counts the listeners, and has the poller ask at once: messages may have been lost in between.
func (h *hub) hears(change int) {
	h.mutex.Lock()
	h.hearing += change
	h.changed = time.Now()
	h.mutex.Unlock()
	h.wakePoller()
}
