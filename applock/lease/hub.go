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

// hub wakes waiters when their objects could be free. It has one poller, which asks for all objects in one call, and one listener where the
// backend sends messages. Both only give hints: a woken waiter makes an attempt itself.
//
// Without a listener the poller begins with a pause of pollFastest to pollFast, by the cost of a poll. The longer nothing happens, the
// longer the pause: a thousandth of the quiet time, at most pollSlowest. With a listener it polls only for safety: soon after each
// newcomer, whose listing a release may have missed, and then ever more rarely, up to pollSafe. It always polls when the next lock expires.
// Polls take at most maxPollShare of the server's time. Slow polls that would need a longer pause than pollDearest run once in that time.
type hub struct {
	leases *Leases

	mutex     sync.Mutex
	objects   map[applock.Object]int // the number of waiters
	polling   bool
	newest    []applock.Object // up to peeked awaited objects, the one of the last newcomer at the end
	changed   time.Time        // the last newcomer or free object
	failing   outage           // of polls
	way       way
	listeners int // the number of listeners that receive messages
	newcomer  chan struct{}
	// random returns a number from 0 to 1, for the jitter.
	random func() float64
}

// outage is since when a backend has not answered, and its last error, which is nil while it answers.
type outage struct {
	since time.Time
	err   error
}

const (
	// pollFastest is the first pause after a cheap poll, and pollFast after any other.
	pollFastest  = 5 * time.Millisecond
	pollFast     = 10 * time.Millisecond
	pollSlowest  = 250 * time.Millisecond
	pollSafe     = 5 * time.Second // with a listener
	pollSlowdown = 1000            // the time without any event, in intervals
	pollSafeSlow = 2               // with a listener

	// maxPollShare is the polls' share of the time: a pause is at least the poll's cost divided by it. The first millisecond of a poll,
	// pollFree, makes no pause longer than pollFast.
	maxPollShare = 1.0 / 25
	pollFree     = time.Millisecond
	// pollDearest limits the pause for a poll's cost: the number of other waiters must not delay a waiter much.
	pollDearest = time.Second
	// newcomerShare is the share while newcomers arrive, who are gathered for one poll.
	newcomerShare = 1.0 / 4

	// peeked is how many objects are asked about one by one, and peekPause how often at most, while polls cost so much that they run less often:
	// some 80 reads of one key in a second, 2 % of a server's time. It is half of a poll's share, since half of that time goes by between polls.
	peeked    = 4
	peekPause = 50 * time.Millisecond

	pollLimit   = 10 * time.Second
	pollFailure = time.Second
	lingering   = 10 * time.Second // how long the poller and its listener stay without waiters
	relisten    = 10 * time.Second
	stale       = time.Second // the greatest age of a message
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

// watch watches an object until unwatch.
func (h *hub) watch(object applock.Object) {
	h.mutex.Lock()
	h.objects[object]++
	h.newest = append(h.withoutNewest(object), object)
	h.newest = h.newest[max(0, len(h.newest)-peeked):]
	h.changed = time.Now()
	if backend, ok := h.leases.backend.(Poller); ok && !h.polling {
		h.polling = true
		h.leases.background.Go(func() { h.run(backend) })
	}
	h.mutex.Unlock()
	if h.leases.lister == nil {
		h.wakePoller() // otherwise when the waiter is listed
	}
}

func (h *hub) unwatch(object applock.Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.objects[object]--
	if h.objects[object] == 0 {
		delete(h.objects, object)
		h.newest = h.withoutNewest(object)
	}
}

// withoutNewest returns the newest objects without one, with the mutex held.
func (h *hub) withoutNewest(object applock.Object) []applock.Object {
	return slices.DeleteFunc(h.newest, func(newest applock.Object) bool { return newest == object })
}

// wakePoller makes the poller ask soon.
func (h *hub) wakePoller() {
	select {
	case h.newcomer <- struct{}{}:
	default: // the poller will ask anyway
	}
}

// waited returns the awaited objects.
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

// run polls while there are waiters, and for a while after that.
func (h *hub) run(backend Poller) {
	ctx, cancel := context.WithCancel(h.leases.stopped)
	defer cancel()
	if source, ok := h.leases.backend.(Notifier); ok {
		h.leases.background.Go(func() { h.listen(ctx, source) })
	}
	for {
		next, err := h.poll(ctx, backend)
		cost := h.cost()
		if !h.sleep(ctx, h.pause(cost, next, err), time.Duration(float64(cost)/newcomerShare)) {
			return
		}
	}
}

// cost is the server's part of a typical poll.
func (h *hub) cost() time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.way.poll() - h.way.least()
}

// roundTrip is how long a message takes to the backend and its answer back.
func (h *hub) roundTrip() time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.way.least()
}

// answered records how long an answered call took.
func (h *hub) answered(took time.Duration) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.way.add(took)
}

// polled is answered for a poll, which may have had no answer.
func (h *hub) polled(took time.Duration, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.way.addPoll(took)
	if err == nil {
		h.way.add(took)
	}
}

// poll asks once and wakes the waiters whose objects could be free. It returns the latest time for the next poll.
func (h *hub) poll(ctx context.Context, backend Poller) (time.Duration, error) {
	h.mutex.Lock()
	idle := len(h.objects) == 0
	if idle {
		h.failing = outage{} // no outage continues after a pause of polling
	}
	h.mutex.Unlock()
	if idle {
		return forever, nil
	}
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	answer, err := backend.Poll(limited, h.waited())
	h.polled(time.Since(asked), err)
	if err != nil {
		h.failed(ctx, asked, err)
		return pollFailure, err
	}
	h.recovered()
	h.tell(answer, asked)
	if h.leases.lister != nil && len(answer.Unlisted) > 0 {
		h.leases.lister.relist(answer.Unlisted, asked)
	}
	return cmp.Or(answer.Next, forever), nil
}

// tell offers the free objects of an answer to their waiters.
func (h *hub) tell(answer PollAnswer, asked time.Time) {
	for _, object := range answer.Free {
		h.leases.queue.offer(object, h.rank(), asked)
	}
	for _, object := range answer.Later {
		h.leases.queue.offer(object, Later, asked)
	}
	h.noteFree(answer.Free)
	h.noteFree(answer.Later)
}

// noteFree records an event if one of the objects still has waiters.
func (h *hub) noteFree(free []applock.Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if slices.ContainsFunc(free, func(object applock.Object) bool { return h.objects[object] > 0 }) {
		h.changed = time.Now()
	}
}

// failed wakes the waiters when polls have failed for long: each makes an attempt, and reports the failure to its caller.
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
		h.wakeAll(since)
	}
}

// recovered records that a poll was answered. Nobody makes an attempt because of that: the answer names the free objects, also those that
// were freed during the outage.
func (h *hub) recovered() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.failing = outage{}
}

// outage returns since when polls have failed.
func (h *hub) outage() outage {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.failing
}

// wakeAll wakes all waiters. Each makes an attempt.
func (h *hub) wakeAll(asked time.Time) {
	for object := range h.waited() {
		h.leases.queue.offer(object, Unranked, asked)
	}
}

// rank is that of an object of which a poll says that nobody else is first.
func (h *hub) rank() Rank {
	if h.leases.crowd == nil {
		return Unranked
	}
	return First
}

// patience is how long another program may take for its turn, and the number of the last poll. On a busy machine the slowest poll of late
// shows how long that one may need to learn of its turn.
func (h *hub) patience() (pause time.Duration, poll int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.leaving(patience, min(h.way.slowestPoll(), longPause/2)), h.way.polled
}

// pauseFor is how long an object is left to another program: for least, and until that has polled and asked, if its way is as long as ours.
func (h *hub) pauseFor(least time.Duration) time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.leaving(least, h.way.poll())
}

// leaving is pauseFor with the mutex held, where a poll takes that long.
func (h *hub) leaving(least, poll time.Duration) time.Duration {
	return h.varied(least + min(time.Since(h.changed)/pollSlowdown, pollSlowest) + 2*poll)
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
	if h.listeners > 0 {
		pause = min(max(quiet/pollSafeSlow, 2*pollFast), pollSafe)
	}
	if len(h.objects) == 0 {
		pause = lingering
	}
	pause = h.varied(pause)
	h.mutex.Unlock()
	return max(min(pause, next), min(shareOf(cost-pollFree), pollDearest))
}

// shareOf is the pause after a poll of that cost.
func shareOf(cost time.Duration) time.Duration { return time.Duration(float64(cost) / maxPollShare) }

// about varies a pause, so that programs do not poll at the same time.
func (h *hub) about(pause time.Duration) time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.varied(pause)
}

// varied is about with the mutex held.
func (h *hub) varied(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (1 - jitter + 2*jitter*h.random()))
}

// sleep waits for the pause to end, or for a newcomer and others that come shortly after it, and peeks meanwhile. It returns false when the
// poller is to end.
func (h *hub) sleep(ctx context.Context, pause, gathering time.Duration) bool {
	timer, newcomer, peek := time.NewTimer(pause), h.newcomer, h.nextPeek(pause)
	defer timer.Stop()
	for isOver := false; !isOver; {
		select {
		case <-ctx.Done():
			isOver = true
		case <-timer.C:
			isOver = true
		case <-newcomer:
			newcomer = nil
			timer.Reset(min(gathering, pause))
		case <-peek:
			h.peek(ctx)
			peek = h.nextPeek(pause)
		}
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if ctx.Err() == nil && (len(h.objects) > 0 || time.Since(h.changed) < lingering) {
		return true
	}
	h.polling, h.failing = false, outage{}
	return false
}

// nextPeek returns a channel that tells when to peek in a pause, nil if the next poll is soon enough, or messages tell.
func (h *hub) nextPeek(pause time.Duration) <-chan time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	next := h.varied(min(max(time.Since(h.changed)/pollSlowdown, peekPause), pollSlowest))
	if _, ok := h.leases.crowd.(Peeker); !ok || h.listeners > 0 || next >= pause {
		return nil
	}
	return time.After(next)
}

// peek asks about the newest objects, as poll does about all. Its failures are left to the next poll to tell.
func (h *hub) peek(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	peeker, _ := h.leases.crowd.(Peeker)
	h.mutex.Lock()
	newest := slices.Clone(h.newest)
	h.mutex.Unlock()
	for _, object := range slices.Backward(newest) {
		asked := time.Now()
		isFree, isFirst, err := peeker.Peek(limited, object)
		switch {
		case err != nil:
			return
		case !isFree:
			h.leases.queue.seeHeld(object)
		case isFirst:
			h.tell(PollAnswer{Free: []applock.Object{object}}, asked)
		default:
			h.tell(PollAnswer{Later: []applock.Object{object}}, asked)
		}
	}
}

// listen wakes waiters by messages. It reconnects when the connection is lost.
func (h *hub) listen(ctx context.Context, backend Notifier) {
	for ctx.Err() == nil {
		source, err := backend.Listen(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err == nil {
			err = h.receive(ctx, source)
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

func (h *hub) receive(ctx context.Context, source Listener) error {
	defer func() { _ = source.Close() }() // the connection is broken
	h.countListeners(+1)
	defer h.countListeners(-1)
	for {
		message, err := source.Next(ctx)
		if err != nil {
			return err
		}
		h.leases.queue.offer(message.Object, message.Rank, time.Now().Add(-stale))
	}
}

// countListeners counts the listeners, and makes the poller ask at once, since messages may have been lost in between.
func (h *hub) countListeners(change int) {
	h.mutex.Lock()
	h.listeners += change
	h.changed = time.Now()
	h.mutex.Unlock()
	h.wakePoller()
}
