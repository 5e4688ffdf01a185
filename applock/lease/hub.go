package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
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
	guarded[watched]

	leases   *Leases
	newcomer chan struct{}
}

// watched is what a hub is reached by: the awaited objects, and what is known of polls.
type watched struct {
	objects   map[applock.Object]int // the number of waiters
	polling   bool
	newest    []applock.Object // up to peeked awaited objects, the one of the last newcomer at the end
	changed   time.Time        // the last newcomer or free object
	failing   outage           // of polls
	way       way
	listeners int // the number of listeners that receive messages
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
	h := &hub{leases: leases, newcomer: make(chan struct{}, 1)}
	h.value = watched{objects: map[applock.Object]int{}, random: rand.Float64}
	return h
}

// watch watches an object until unwatch.
func (h *hub) watch(object applock.Object) {
	watched, unlock := h.lock()
	defer unlock()
	watched.objects[object]++
	watched.newest = append(watched.withoutNewest(object), object)
	watched.newest = watched.newest[max(0, len(watched.newest)-peeked):]
	watched.changed = time.Now()
	if backend, ok := h.leases.backend.(Poller); ok && !watched.polling {
		watched.polling = true
		h.leases.background.Go(func() { h.run(backend) })
	}
	if h.leases.lister == nil {
		h.wakePoller() // otherwise when the waiter is listed
	}
}

func (h *hub) unwatch(object applock.Object) {
	watched, unlock := h.lock()
	defer unlock()
	watched.objects[object]--
	if watched.objects[object] == 0 {
		delete(watched.objects, object)
		watched.newest = watched.withoutNewest(object)
	}
}

// withoutNewest returns the newest objects without one.
func (w *watched) withoutNewest(object applock.Object) []applock.Object {
	return slices.DeleteFunc(w.newest, func(newest applock.Object) bool { return newest == object })
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
		watched, unlock := h.lock()
		objects := slices.AppendSeq(make([]applock.Object, 0, len(watched.objects)), maps.Keys(watched.objects))
		unlock()
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
	watched, unlock := h.lock()
	defer unlock()
	return watched.way.poll() - watched.way.least()
}

// roundTrip is how long a message takes to the backend and its answer back.
func (h *hub) roundTrip() time.Duration {
	watched, unlock := h.lock()
	defer unlock()
	return watched.way.least()
}

// answered records how long an answered call took.
func (h *hub) answered(took time.Duration) {
	watched, unlock := h.lock()
	defer unlock()
	watched.way.add(took)
}

// polled is answered for a poll, which may have had no answer.
func (h *hub) polled(took time.Duration, err error) {
	watched, unlock := h.lock()
	defer unlock()
	watched.way.addPoll(took)
	if err == nil {
		watched.way.add(took)
	}
}

// poll asks once and wakes the waiters whose objects could be free. It returns the latest time for the next poll.
func (h *hub) poll(ctx context.Context, backend Poller) (time.Duration, error) {
	if h.isIdle() {
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

// isIdle reports whether nobody waits. No outage continues after a pause of polling.
func (h *hub) isIdle() bool {
	watched, unlock := h.lock()
	defer unlock()
	if len(watched.objects) > 0 {
		return false
	}
	watched.failing = outage{}
	return true
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
	watched, unlock := h.lock()
	defer unlock()
	if slices.ContainsFunc(free, func(object applock.Object) bool { return watched.objects[object] > 0 }) {
		watched.changed = time.Now()
	}
}

// failed wakes the waiters when polls have failed for long: each makes an attempt, and reports the failure to its caller.
func (h *hub) failed(ctx context.Context, asked time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	since := h.fail(asked, err)
	h.leases.logger.LogAttrs(ctx, slog.LevelWarn, "cannot check whether awaited objects are free, trying again", slog.Any("error", err))
	if time.Since(since) >= outagePatience {
		h.wakeAll(since)
	}
}

// fail records a failed poll, and returns since when polls have failed.
func (h *hub) fail(asked time.Time, err error) (since time.Time) {
	watched, unlock := h.lock()
	defer unlock()
	if watched.failing.err == nil {
		watched.failing.since = asked
	}
	watched.failing.err = err
	if !errors.Is(err, applock.ErrPrivilege) && !errors.Is(err, applock.ErrSchema) && !errors.Is(err, applock.ErrUnreachable) {
		watched.failing.err = fmt.Errorf("%w: %w", applock.ErrUnreachable, err)
	}
	return watched.failing.since
}

// recovered records that a poll was answered. Nobody makes an attempt because of that: the answer names the free objects, also those that
// were freed during the outage.
func (h *hub) recovered() {
	watched, unlock := h.lock()
	defer unlock()
	watched.failing = outage{}
}

// outage returns since when polls have failed.
func (h *hub) outage() outage {
	watched, unlock := h.lock()
	defer unlock()
	return watched.failing
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
	watched, unlock := h.lock()
	defer unlock()
	return watched.leaving(patience, min(watched.way.slowestPoll(), longPause/2)), watched.way.polled
}

// pauseFor is how long an object is left to another program: for least, and until that has polled and asked, if its way is as long as ours.
func (h *hub) pauseFor(least time.Duration) time.Duration {
	watched, unlock := h.lock()
	defer unlock()
	return watched.leaving(least, watched.way.poll())
}

// leaving is pauseFor where a poll takes that long.
func (w *watched) leaving(least, poll time.Duration) time.Duration {
	return w.varied(least + min(time.Since(w.changed)/pollSlowdown, pollSlowest) + 2*poll)
}

// pause is how long the poller sleeps after a poll.
func (h *hub) pause(cost, next time.Duration, err error) time.Duration {
	if err != nil {
		return pollFailure
	}
	watched, unlock := h.lock()
	defer unlock()
	quiet := time.Since(watched.changed)
	soonest := min(max(shareOf(cost), pollFastest), pollFast)
	pause := min(max(quiet/pollSlowdown, soonest), pollSlowest)
	if watched.listeners > 0 {
		pause = min(max(quiet/pollSafeSlow, 2*pollFast), pollSafe)
	}
	if len(watched.objects) == 0 {
		pause = lingering
	}
	return max(min(watched.varied(pause), next), min(shareOf(cost-pollFree), pollDearest))
}

// shareOf is the pause after a poll of that cost.
func shareOf(cost time.Duration) time.Duration { return time.Duration(float64(cost) / maxPollShare) }

// about varies a pause, so that programs do not poll at the same time.
func (h *hub) about(pause time.Duration) time.Duration {
	watched, unlock := h.lock()
	defer unlock()
	return watched.varied(pause)
}

func (w *watched) varied(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (1 - jitter + 2*jitter*w.random()))
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
	watched, unlock := h.lock()
	defer unlock()
	watched.polling = ctx.Err() == nil && (len(watched.objects) > 0 || time.Since(watched.changed) < lingering)
	if !watched.polling {
		watched.failing = outage{}
	}
	return watched.polling
}

// nextPeek returns a channel that tells when to peek in a pause, nil if the next poll is soon enough, or messages tell.
func (h *hub) nextPeek(pause time.Duration) <-chan time.Time {
	watched, unlock := h.lock()
	defer unlock()
	next := watched.varied(min(max(time.Since(watched.changed)/pollSlowdown, peekPause), pollSlowest))
	if _, ok := h.leases.crowd.(Peeker); !ok || watched.listeners > 0 || next >= pause {
		return nil
	}
	return time.After(next)
}

// peek asks about the newest objects, as poll does about all. Its failures are left to the next poll to tell.
func (h *hub) peek(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	peeker, _ := h.leases.crowd.(Peeker)
	watched, unlock := h.lock()
	newest := slices.Clone(watched.newest)
	unlock()
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
	watched, unlock := h.lock()
	defer unlock()
	watched.listeners += change
	watched.changed = time.Now()
	h.wakePoller()
}
