package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// hub wakes the waiters of one Leases when their objects could be free. There is one poller for all of them, which
// asks for all objects in one call, and, where the backend has one, one listener for messages. All of that is hints:
// a waiter that is woken asks for itself.
//
// Without a listener the poller asks every 5 ms at first where a poll takes 0.2 ms, every 10 ms where it takes 0.4 ms or more,
// and ever more rarely the longer nothing happens. So a waiter is late by a thousandth of its wait, and by 250 ms at the most. With a listener it asks to be on the safe side: soon
// after each newcomer, because a release may not have seen it waiting, and then ever more rarely, up to 5 s. In any
// case it asks when the next lock expires, and spends no more than a twenty-fifth of the time on asking, unless polls take
// longer than 40 ms: then it asks once a second.
type hub struct {
	leases *Leases

	mutex    sync.Mutex
	objects  map[applock.Object]int // how many wait for it
	polling  bool
	changed  time.Time // when something happened last: a newcomer, or an object that was free
	failing  outage    // of polls
	hearing  int       // how many listeners get messages
	newcomer chan struct{}
	// random returns a number from 0 to 1, for the jitter.
	random func() float64
}

// outage is since when a backend has not answered, and its last error; nil when it does.
type outage struct {
	since time.Time
	err   error
}

const (
	// pollFastest is the first pause after a poll that costs little; pollFast is that of others.
	pollFastest  = 5 * time.Millisecond
	pollFast     = 10 * time.Millisecond
	pollSlowest  = 250 * time.Millisecond
	pollSafe     = 5 * time.Second // with a listener
	pollSlowdown = 1000            // the time without any event, in intervals
	pollSafeSlow = 2               // with a listener

	// maxPollShare is a poll's share of the time: the pause after it is at least its cost divided by this. The first
	// millisecond of a poll, pollFree, does not make it longer than pollFast.
	maxPollShare = 1.0 / 25
	pollFree     = time.Millisecond
	// pollDearest bounds the pause that is made for its cost: who waits is not to pay for the others.
	pollDearest = time.Second
	// newcomerShare is the same while newcomers arrive, who are gathered for a common poll.
	newcomerShare = 1.0 / 4

	pollLimit   = 10 * time.Second
	pollFailure = time.Second
	lingering   = 10 * time.Second // how long the poller and its listener stay when nobody waits
	relisten    = 10 * time.Second
	stale       = time.Second // a message may be so old
	jitter      = 0.2
)

func newHub(leases *Leases) *hub {
	return &hub{
		leases:   leases,
		objects:  map[applock.Object]int{},
		newcomer: make(chan struct{}, 1),
		random:   rand.Float64,
	}
}

// add has an object looked after until remove.
func (h *hub) add(object applock.Object) {
	h.mutex.Lock()
	h.objects[object]++
	h.changed = time.Now()
	if backend, ok := h.leases.backend.(Poller); ok && !h.polling {
		h.polling = true
		h.leases.background.Go(func() { h.run(backend) })
	}
	h.mutex.Unlock()
	if h.leases.lister == nil {
		h.wakePoller() // else when the waiter is listed
	}
}

func (h *hub) remove(object applock.Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.objects[object]--
	if h.objects[object] == 0 {
		delete(h.objects, object)
	}
}

// isWatched reports whether somebody has the object looked after.
func (h *hub) isWatched(object applock.Object) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.objects[object] > 0
}

// wakePoller makes the poller ask soon.
func (h *hub) wakePoller() {
	select {
	case h.newcomer <- struct{}{}:
	default: // the poller will ask anyway
	}
}

// waited returns the objects that somebody waits for.
func (h *hub) waited() iter.Seq[applock.Object] {
	return func(yield func(applock.Object) bool) {
		h.mutex.Lock()
		objects := make([]applock.Object, 0, len(h.objects))
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
	var costs pollCosts
	for {
		began := time.Now()
		next, err := h.poll(ctx, backend)
		cost := costs.typical(time.Since(began))
		if !h.sleep(ctx, h.pause(cost, next, err), time.Duration(float64(cost)/newcomerShare)) {
			return
		}
	}
}

// poll asks once and wakes those whose objects could be free. It returns when to ask again at the latest.
func (h *hub) poll(ctx context.Context, backend Poller) (time.Duration, error) {
	h.mutex.Lock()
	idle := len(h.objects) == 0
	if idle {
		h.failing = outage{} // it is of no interest when the next one comes
	}
	h.mutex.Unlock()
	if idle {
		return forever, nil
	}
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	answer, err := backend.Poll(limited, h.waited())
	if err != nil {
		h.failed(ctx, asked, err)
		return pollFailure, err
	}
	if h.recovered() {
		h.nudgeAll(asked)
	}
	for _, object := range answer.Free {
		h.leases.nudge(object, asked)
	}
	if h.leases.lister != nil && len(answer.Unlisted) > 0 {
		h.leases.lister.again(answer.Unlisted, asked)
	}
	h.note(answer.Free)
	return cmp.Or(answer.Next, forever), nil
}

// note remembers that something has happened, if one of the objects is still waited for.
func (h *hub) note(free []applock.Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if slices.ContainsFunc(free, func(object applock.Object) bool { return h.objects[object] > 0 }) {
		h.changed = time.Now()
	}
}

// failed wakes the waiters when polls have failed for long: each tries for itself, and reports the failure to its caller.
func (h *hub) failed(ctx context.Context, asked time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	h.mutex.Lock()
	if h.failing.err == nil {
		h.failing.since = asked
	}
	h.failing.err = err
	if !errors.Is(err, applock.ErrPrivilege) && !errors.Is(err, applock.ErrSchema) && !errors.Is(err, applock.ErrUnreachable) {
		h.failing.err = fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
	}
	since := h.failing.since
	h.mutex.Unlock()
	h.leases.logger.LogAttrs(ctx, slog.LevelWarn, "cannot check whether awaited objects are free, trying again", slog.Any("error", err))
	if time.Since(since) >= outagePatience {
		h.nudgeAll(since)
	}
}

// recovered notes that a poll was answered, and reports whether that is news.
func (h *hub) recovered() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	wasFailing := h.failing.err != nil
	h.failing = outage{}
	return wasFailing
}

// outage returns since when polls have failed.
func (h *hub) outage() outage {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.failing
}

// nudgeAll wakes all waiters, and each asks for itself.
func (h *hub) nudgeAll(asked time.Time) {
	for object := range h.waited() {
		h.leases.nudge(object, asked)
	}
}

// pause is how long the poller sleeps after a poll.
func (h *hub) pause(cost, next time.Duration, err error) time.Duration {
	if err != nil {
		return pollFailure
	}
	h.mutex.Lock()
	quiet := time.Since(h.changed)
	soonest := min(max(shareOf(cost), pollFastest), pollFast)
	pause := min(max(quiet/pollSlowdown, soonest), pollSlowest)
	if h.hearing > 0 {
		pause = min(max(quiet/pollSafeSlow, 2*pollFast), pollSafe)
	}
	if len(h.objects) == 0 {
		pause = lingering
	}
	h.mutex.Unlock()
	pause = h.about(pause)
	return max(min(pause, next), min(shareOf(cost-pollFree), pollDearest))
}

// shareOf is the pause after which a poll of such a cost has had its share of the time.
func shareOf(cost time.Duration) time.Duration { return time.Duration(float64(cost) / maxPollShare) }

// about returns a pause that is a little longer or shorter, so that not all programs ask at the same time.
func (h *hub) about(pause time.Duration) time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return time.Duration(float64(pause) * (1 - jitter + 2*jitter*h.random()))
}

// pollCosts are those of the last polls.
type pollCosts struct {
	last  [5]time.Duration
	polls int
}

// typical notes a cost and returns the median, which one poll that took long does not change.
func (c *pollCosts) typical(cost time.Duration) time.Duration {
	c.last[c.polls%len(c.last)] = cost
	c.polls++
	known := slices.Sorted(slices.Values(c.last[:min(c.polls, len(c.last))]))
	return known[(len(known)-1)/2]
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
	h.polling, h.failing = false, outage{}
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

func (h *hub) hear(ctx context.Context, source Listener) error {
	defer func() { _ = source.Close() }() // it is of no use any more
	h.hears(+1)
	defer h.hears(-1)
	for {
		message, err := source.Next(ctx)
		if err != nil {
			return err
		}
		h.leases.told(message, h.about(othersPause))
	}
}

// hears counts the listeners, and makes the poller ask at once: messages may have been lost in between.
func (h *hub) hears(change int) {
	h.mutex.Lock()
	h.hearing += change
	h.changed = time.Now()
	h.mutex.Unlock()
	h.wakePoller()
}
