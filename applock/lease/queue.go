package lease

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// forever is the wait without limit.
	forever = time.Duration(math.MaxInt64)
	// lastAnswer is how old the answer to a waiter may be, and how long a newer one may take.
	lastAnswer = time.Second
	// lookAgain is after what time a waiter asks for itself, should everything else have failed to wake it.
	lookAgain = 5 * time.Minute
	// askAgain is after what time a waiter asks again after an attempt that came to nothing. It doubles up to
	// askAgainSlowest.
	askAgain        = 20 * time.Millisecond
	askAgainSlowest = 2 * time.Second
	// unlistedWait is how long a waiter is not listed, and nobody polls for it, unless somebody elsewhere holds the object.
	unlistedWait = 50 * time.Millisecond
	// outagePatience is for how long a waiter waits for a backend that cannot be reached.
	outagePatience = 30 * time.Second
)

// objectState is what this program knows of one object: the local hold, the queue of those who wait here, first come
// first, and the takes whose outcome is not settled. It is there while there is any of them. The mutex of Leases guards
// it.
type objectState struct {
	holder *hold
	queue  list.List // of *waiter
	// unsettled counts the takes that were abandoned and may still have to be undone, and those of sets that take it in passing.
	// Until then it is nobody's turn. missed is true once that has kept from asking who is first.
	unsettled int
	missed    bool
	// asking is true while who is first asks.
	asking bool
	// seen is who was seen last to hold the object, here or elsewhere, and when.
	seen   applock.Holder
	seenAt time.Time
	// elsewhere is true from a refusal until somebody holds the object here.
	elsewhere bool
	// turns are those of this program, in a row. fading is true while the object is about to be forgotten.
	turns  turns
	fading bool
	// failure is why the last attempt came to nothing, nil if it was refused.
	failure error
	// news, if somebody waits for it, is closed when one of the above changes.
	news chan struct{}
}

// waiter is a caller in the queue of an object.
type waiter struct {
	object  applock.Object
	element *list.Element
	wake    chan struct{}
	came    time.Time
}

// state returns that of an object; the mutex is held.
func (l *Leases) state(object applock.Object) *objectState {
	found := l.objects[object]
	if found == nil {
		found = &objectState{}
		l.objects[object] = found
	}
	return found
}

// first returns who is at the head of the queue.
func (s *objectState) first() *waiter {
	if s.queue.Len() == 0 {
		return nil
	}
	first, _ := s.queue.Front().Value.(*waiter)
	return first
}

// tell wakes those who wait for news of the object.
func (s *objectState) tell() {
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
}

// see notes who holds the object.
func (s *objectState) see(holder applock.Holder, elsewhere bool) {
	s.seen, s.seenAt, s.elsewhere, s.failure = holder, time.Now(), elsewhere, nil
}

// verdict says why a waiter does not have the object, as far as this program knows: nil if there was no answer yet. Somebody
// holds it who was seen to since the waiter came, or before and is still waited for. But who was seen before an outage
// began may be gone.
func (s *objectState) verdict(self *waiter, outage outage) error {
	if s.holder != nil {
		s.see(s.holder.asHolder(), false)
	}
	wasSeen := s.elsewhere || !s.seenAt.IsZero() && !s.seenAt.Before(self.came)
	switch {
	case s.failure != nil && (isOutage(s.failure) || !wasSeen):
		return s.failure
	case wasSeen && (s.holder != nil || outage.err == nil || s.seenAt.After(outage.since)):
		return &applock.HeldError{Object: self.object, Holder: s.seen}
	}
	return outage.err
}

// advance wakes who is first if it is its turn now, and forgets an object that nobody is concerned with; the mutex is
// held.
func (l *Leases) advance(object applock.Object, state *objectState) {
	first := state.first()
	state.tell()
	switch {
	case state.holder != nil:
	case state.unsettled > 0:
		state.missed = true
	case l.isFreeForOthers(state) || first == nil:
		l.forget(object, state)
	default:
		first.nudge()
	}
}

// forget forgets an object that nobody is concerned with, after a moment if this program has just had its turns: whoever comes
// meanwhile goes on with them. The mutex is held.
func (l *Leases) forget(object applock.Object, state *objectState) {
	isUnused := state.holder == nil && state.unsettled == 0 && state.first() == nil
	switch {
	case !isUnused || state.fading:
	case (!l.isShared || state.turns.isPast()) && l.objects[object] == state:
		delete(l.objects, object)
	default:
		state.fading = true
		time.AfterFunc(rowGap, func() {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			state.fading = false
			l.forget(object, state)
		})
	}
}

// turns are those that waiters of this program take after each other, while those of others, who poll, never see the object
// free. So it is left alone for a moment when everybody has had a turn who was waiting when the row began. And when it is
// free again, a program that has rivals asks the later, the sooner after its last row that is.
type turns struct {
	began  time.Time // zero: no row
	last   time.Time // when a turn ended
	quota  int
	handed int
	// ended is when the last row ended, and length how long it was.
	ended  time.Time
	length time.Duration
	// pause is until when the object is left to others, outsiders when one of them was seen to hold it, other which program that
	// was, and rivals when it was another one than the last time.
	pause     time.Time
	outsiders time.Time
	other     string
	rivals    time.Time
}

const (
	// leastRow is how long a row lasts at least where others are known to want the object, and longRow where they are not.
	leastRow = 50 * time.Millisecond
	longRow  = 2 * time.Second
	// rowGap is how long nobody here may have it within a row.
	rowGap = 100 * time.Millisecond
	// othersPause is how long the object is left alone: some polls of those who have waited for less than a minute. courtesy
	// is by how much a program asks later whose last row has just ended.
	othersPause = 50 * time.Millisecond
	courtesy    = 4 * othersPause
	// remembered is for how long others are known.
	remembered = time.Minute
)

// taken notes that a waiter of this program has the object, while so many others of it wait.
func (t *turns) taken(waiting int) {
	if t.began.IsZero() {
		t.began, t.quota, t.handed = time.Now(), max(1, waiting), 0
		return
	}
	t.handed++
}

// refused notes that an operator of another program has it.
func (t *turns) refused(operator string) {
	t.end()
	t.outsiders = time.Now()
	program := programOf(operator)
	if t.other != "" && t.other != program {
		t.rivals = t.outsiders
	}
	t.other = program
}

func (t *turns) end() {
	if !t.began.IsZero() {
		t.ended, t.length = time.Now(), time.Since(t.began)
		t.began = time.Time{}
	}
}

// delay is how much later than others this program is to ask for an object that is free: the less, the more lengths of its last
// row have passed since. (Its own rounds would be no measure: who had to wait for long would be the more patient for it.) Where
// others are not known to wait beside it, nobody is to gain by that.
func (t *turns) delay() time.Duration {
	if t.length <= 0 || t.rivals.IsZero() || time.Since(t.rivals) >= remembered {
		return 0
	}
	share := float64(t.length) / float64(t.length+time.Since(t.ended))
	return time.Duration(share * share * float64(courtesy))
}

// isPast reports whether the last turn and the pause after it are of no interest any more.
func (t *turns) isPast() bool {
	return time.Since(t.last) >= rowGap && !time.Now().Before(t.pause)
}

// isOver reports whether the row has lasted for long enough.
func (t *turns) isOver() bool {
	least := longRow
	if time.Since(t.outsiders) < remembered {
		least = leastRow
	}
	return !t.began.IsZero() && t.handed >= t.quota && time.Since(t.began) >= least
}

// isFreeForOthers begins a pause if one is due, and reports whether there is one; the mutex is held.
func (l *Leases) isFreeForOthers(state *objectState) bool {
	if l.isShared && state.turns.isOver() {
		state.turns.end()
		l.leaveToOthers(state, othersPause+state.turns.delay()) // else it would ask before those who delay, too
	}
	return time.Now().Before(state.turns.pause)
}

// leaveToOthers makes a pause; the mutex is held.
func (l *Leases) leaveToOthers(state *objectState, pause time.Duration) {
	state.turns.pause = time.Now().Add(pause)
	time.AfterFunc(pause, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		state.tell()
		if first := state.first(); first != nil {
			first.nudge()
		}
	})
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been told
	}
}

// vacate takes a hold off its object.
func (l *Leases) vacate(h *hold) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[h.grant.Object]
	if state == nil || state.holder != h {
		return
	}
	state.see(h.asHolder(), false)
	state.turns.last = time.Now()
	state.holder = nil
	l.advance(h.grant.Object, state)
}

// nudge wakes who is first in the queue of an object that is said to be free since asked. If it is held here, its
// holder may have lost it without knowing.
func (l *Leases) nudge(object applock.Object, asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[object]
	switch {
	case state == nil:
	case state.holder != nil && state.holder.cause == nil && state.holder.began.Before(asked):
		l.verify(state.holder)
	case state.first() == nil || time.Now().Before(state.turns.pause):
	case state.holder == nil && state.turns.delay() > 0:
		l.leaveToOthers(state, state.turns.delay())
	default:
		state.first().nudge()
	}
}

// told is nudge by a message. Where another program is to ask first, this one asks when it has not heard of the object for a
// moment: then the other one does not want it any more, or holds it.
func (l *Leases) told(message Message, moment time.Duration) {
	l.mutex.Lock()
	state := l.objects[message.Object]
	isWaiting := state != nil && state.holder == nil && state.first() != nil
	switch {
	case isWaiting && message.Rank == First:
		state.turns.pause = time.Time{}
		state.first().nudge()
	case isWaiting && message.Rank == Later:
		l.leaveToOthers(state, moment)
	}
	l.mutex.Unlock()
	if !isWaiting || message.Rank == Unranked {
		l.nudge(message.Object, time.Now().Add(-stale))
	}
}

// wait is one caller's wait for an object.
type wait struct {
	leases  *Leases
	claim   claim
	self    *waiter
	maxWait time.Duration
	attempt func(limited context.Context) error
	asked   time.Time // when the last attempt began
	// refused is true once the backend has said that somebody holds the object.
	refused bool
	// watched is true once the hub looks after the object; listing is with which name, where there is a list.
	watched bool
	listing *listing
	// unknown is what an attempt failed with that may have left a lock for a given operator, nil when a later answer has told that there is none.
	unknown error
	// failing is since when attempts have met an outage, and nothing else. again is the pause before the next one.
	failing time.Time
	again   time.Duration
}

// queue makes attempts until one succeeds or fails for good: when it is this caller's turn here, and each time that the
// object could be free. A maxWait of zero asks once.
//
// While there is time, "somebody holds it", "others are changing it" and "the backend cannot be reached" all mean: not yet.
// In the end they are told apart. Only who was seen to hold the object makes a *HeldError.
func (l *Leases) queue(
	ctx context.Context, claim *claim, maxWait time.Duration, attempt func(limited context.Context) error,
) error {
	w, err := l.newWait(claim, maxWait, attempt)
	if err != nil {
		return err
	}
	defer l.dequeue(w.self)
	limited, cancel := withLimit(ctx, maxWait)
	defer cancel()
	if maxWait == 0 {
		return w.askOnce(ctx)
	}
	defer w.unlist()
	return w.tellUnknown(w.untilDone(ctx, limited))
}

// newWait has the caller stand in line. It is a function of its own because what it needs of the stack is not needed while thousands wait.
func (l *Leases) newWait(claim *claim, maxWait time.Duration, attempt func(limited context.Context) error) (*wait, error) {
	self, err := l.enqueue(*claim)
	if err != nil {
		return nil, err
	}
	return &wait{leases: l, claim: *claim, self: self, maxWait: maxWait, attempt: attempt, again: askAgain}, nil
}

func (w *wait) untilDone(ctx, limited context.Context) error {
	for {
		if done, err := w.tryTurn(limited); done {
			return err
		}
		w.list(limited)
		if err := w.pause(limited); err != nil {
			return err
		}
		if limited.Err() != nil {
			return w.lastAttempt(ctx)
		}
	}
}

// withLimit returns a context that ends with ctx, and after maxWait if that is a limit. Without one it is ctx itself: one more for each of
// thousands that wait is 800 bytes each.
func withLimit(ctx context.Context, maxWait time.Duration) (context.Context, context.CancelFunc) {
	if maxWait <= 0 || maxWait == forever {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, maxWait)
}

// askOnce makes one attempt. If it is not this caller's turn, those who are before it know the answer, or will soon.
func (w *wait) askOnce(ctx context.Context) error {
	l := w.leases
	for ctx.Err() == nil {
		if l.isTurnOf(w.self) {
			err := w.ask(ctx)
			l.learn(w.self, err)
			return err
		}
		news, verdict := l.awaitNews(w.self)
		if verdict != nil {
			return verdict
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-l.stopped.Done():
			return applock.ErrClosed
		}
	}
	return context.Cause(ctx)
}

// tryTurn makes an attempt if it is this caller's turn. It reports whether the wait is over, and with what.
func (w *wait) tryTurn(limited context.Context) (done bool, err error) {
	if !w.leases.isTurnOf(w.self) {
		return false, nil
	}
	w.asked = time.Now()
	err = w.ask(limited)
	if err == nil {
		return true, nil
	}
	if endedBy(limited, err) {
		return false, nil
	}
	return !w.isToWait(err), err
}

var errNoAnswer = fmt.Errorf("%w: no answer for %s", applock.ErrUnreachable, outagePatience)

// errGivenUp is what is known of an attempt that was abandoned. What it takes is given back when its answer comes, but that may get lost.
var errGivenUp = fmt.Errorf("given up before its answer came: %w", applock.ErrOutcomeUnknown)

// ask makes an attempt, and abandons it when a backend is too silent. Who asks for a given operator is told in the end of what that may have
// left; by a name of its own it is released in any case.
func (w *wait) ask(limited context.Context) error {
	asking, cancel := context.WithTimeoutCause(limited, outagePatience, errNoAnswer)
	defer cancel()
	w.leases.setAsking(w.self, true)
	defer w.leases.setAsking(w.self, false)
	err := w.attempt(asking)
	var abandoned *abandonedError
	switch {
	case w.claim.unique || !errors.As(err, &abandoned):
		return err
	case limited.Err() == nil:
		return fmt.Errorf("%w: %w", err, applock.ErrOutcomeUnknown)
	}
	w.unknown = errGivenUp
	return err
}

// isToWait notes why an attempt came to nothing, and reports whether another one is to be made. A transaction that is changing
// the lock, or asserts it, is waited for like a holder. A backend that is gone, or whose grants come too late and are given back, is waited for
// for a while.
func (w *wait) isToWait(err error) bool {
	w.leases.learn(w.self, err)
	switch {
	case errors.Is(err, applock.ErrOutcomeUnknown) && !w.claim.unique:
		w.unknown = err
	case errors.Is(err, applock.ErrHeld) || errors.Is(err, errMovesOn):
		w.unknown = nil
	}
	switch {
	case errors.Is(err, applock.ErrHeld):
		w.failing, w.again, w.refused = time.Time{}, askAgain, true
		return true
	case isOutage(err), errors.Is(err, errTooLate): // a lease that is shorter than the way of its grant comes too late for ever
		since := w.leases.waiters.outage().since
		if w.failing.IsZero() {
			w.failing = time.Now()
		}
		if since.IsZero() || w.failing.Before(since) {
			since = w.failing
		}
		return time.Since(since) < outagePatience
	}
	w.failing = time.Time{}
	return isBusy(err)
}

// tellUnknown adds to the error of a wait that an earlier attempt may have left a lock.
func (w *wait) tellUnknown(err error) error {
	if err == nil || w.unknown == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w; an attempt before that: %w", err, w.unknown)
}

// isNotYet reports whether a caller that has time is to ask again.
func isNotYet(err error) bool { return errors.Is(err, applock.ErrHeld) || isBusy(err) || isOutage(err) }

// isBusy reports whether an attempt came to nothing for a moment.
func isBusy(err error) bool {
	return errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrRetry) || errors.Is(err, applock.ErrContention) || errors.Is(err, errTooLate)
}

// isOutage reports whether an attempt found nobody to answer it.
func isOutage(err error) bool {
	return errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown)
}

// endedBy reports whether an attempt was abandoned because its context has ended.
func endedBy(limited context.Context, err error) bool {
	return limited.Err() != nil && errors.Is(err, context.Cause(limited)) && !errors.Is(err, applock.ErrOutcomeUnknown)
}

// list has the object looked after until the end of the wait: from the first refusal on, or after a moment. Whoever is served
// by then by a holder of the same program costs the backend nothing.
func (w *wait) list(limited context.Context) {
	if w.watched || limited.Err() != nil || !w.refused && time.Since(w.self.came) < unlistedWait {
		return
	}
	w.watched = true
	if w.leases.lister != nil {
		limit := time.Time{}
		if w.maxWait != forever {
			limit = w.self.came.Add(w.maxWait)
		}
		w.listing = w.leases.lister.add(w.claim, limit)
	}
	w.leases.waiters.add(w.claim.object) //nolint:contextcheck // it polls for others, too
}

func (w *wait) unlist() {
	if !w.watched {
		return
	}
	w.leases.waiters.remove(w.claim.object)
	if w.listing != nil {
		w.leases.lister.remove(w.listing)
	}
}

// unlisted is closed when the backend does not list the waiter.
func (w *wait) unlisted() <-chan struct{} {
	if w.listing == nil {
		return nil
	}
	return w.listing.refused
}

// lastAttempt ends a wait: with the cause if ctx has ended it, and else with an answer that is not older than a second.
func (w *wait) lastAttempt(ctx context.Context) error {
	l := w.leases
	if ctx.Err() != nil {
		if verdict := l.verdict(w.self); verdict != nil {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), verdict)
		}
		return context.Cause(ctx)
	}
	if time.Since(w.asked) >= lastAnswer && l.isTurnOf(w.self) {
		limited, cancel := context.WithTimeout(ctx, lastAnswer)
		defer cancel()
		err := w.ask(limited)
		if err == nil || !endedBy(limited, err) && !w.isToWait(err) {
			return err
		}
	}
	if verdict := l.verdict(w.self); verdict != nil {
		return verdict
	}
	return fmt.Errorf("%w: no answer within the %s of max_wait", applock.ErrUnreachable, w.maxWait)
}

// pause waits until the waiter is to try again, or limited ends. After an attempt that came to nothing it asks again soon,
// because nobody else may know that it could, but not at once, whoever wakes it. Where nobody answered it heeds no wake at all:
// the first one is that of its own attempt, which has been undone.
func (w *wait) pause(limited context.Context) error {
	failure := w.leases.failureOf(w.self)
	if failure == nil {
		pause := lookAgain
		if !w.watched {
			pause = time.Until(w.self.came.Add(unlistedWait))
		}
		return w.sleep(limited, pause, w.self.wake)
	}
	if err := w.sleep(limited, askAgain, nil); err != nil {
		return err
	}
	pause := w.leases.waiters.about(w.again)
	w.again = min(2*w.again, askAgainSlowest)
	wake := w.self.wake
	if isOutage(failure) {
		wake = nil
	}
	return w.sleep(limited, pause, wake)
}

func (w *wait) sleep(limited context.Context, pause time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-limited.Done():
	case <-wake:
	case <-timer.C:
	case <-w.unlisted():
		return w.listing.err
	case <-w.leases.stopped.Done():
		return applock.ErrClosed
	}
	return nil
}

func (l *Leases) enqueue(claim claim) (*waiter, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, applock.ErrClosed
	}
	self := &waiter{object: claim.object, wake: make(chan struct{}, 1), came: time.Now()}
	self.element = l.state(claim.object).queue.PushBack(self)
	return self, nil
}

func (l *Leases) dequeue(self *waiter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	state.queue.Remove(self.element)
	l.advance(self.object, state)
}

func (l *Leases) isTurnOf(self *waiter) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	if state.holder != nil || state.first() != self || time.Now().Before(state.turns.pause) {
		return false
	}
	state.missed = state.unsettled > 0
	return !state.missed
}

func (l *Leases) setAsking(self *waiter, asking bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.objects[self.object].asking = asking
}

// failureOf returns why the waiter's own last attempt came to nothing, nil if that was because somebody holds the object.
func (l *Leases) failureOf(self *waiter) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	if state.holder != nil || state.first() != self {
		return nil
	}
	return state.failure
}

// learn remembers what an attempt has shown: who held the object, or why nobody could tell.
func (l *Leases) learn(self *waiter, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		state.see(held.Holder, true)
		state.turns.refused(held.Holder.Owner.Operator)
	case isBusy(err) || isOutage(err):
		state.failure = err
	}
	state.tell()
}

func (l *Leases) verdict(self *waiter) error {
	outage := l.waiters.outage()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.objects[self.object].verdict(self, outage)
}

// awaitNews returns a channel that is closed when there is more to know, or why the object is not to be had.
func (l *Leases) awaitNews(self *waiter) (news <-chan struct{}, verdict error) {
	outage := l.waiters.outage()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	state := l.objects[self.object]
	if verdict := state.verdict(self, outage); verdict != nil {
		return nil, verdict
	}
	if state.news == nil {
		state.news = make(chan struct{})
	}
	return state.news, nil
}
