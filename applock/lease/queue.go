package lease

import (
	"container/list"
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// forever is the wait without limit.
	forever = time.Duration(math.MaxInt64)
	// lastAnswer is how old the answer for a waiter may be, and how long a newer one may take.
	lastAnswer = time.Second
	// lookAgain is when a first waiter makes an attempt even if nothing has woken it. sweepPause is how often such waiters are looked for, so
	// that at most a sixtieth of those who have come one after the other ask at a time.
	lookAgain  = 5 * time.Minute
	sweepPause = lookAgain / 60
	// askAgain is the pause after a failed attempt. It doubles up to askAgainSlowest.
	askAgain        = 20 * time.Millisecond
	askAgainSlowest = 2 * time.Second
	// unlistedWait is how long a waiter stays the first one before it is listed and polled for, unless it is refused because a holder elsewhere
	// has the object. A waiter that a holder here serves sooner costs the backend nothing.
	unlistedWait = 50 * time.Millisecond
	// unlistedBehind is the same for those behind it: other programs see the first one.
	unlistedBehind = time.Second
	// mostListed is how many waiters a program lists for an object: enough for people to see who waits.
	mostListed = 8
	// outagePatience is how long a waiter waits for an unreachable backend.
	outagePatience = 30 * time.Second
)

// queue has the waiters of this program, for each object in the order of their calls.
type queue struct {
	guarded[objects]

	leases *Leases
}

func newQueue(leases *Leases) *queue {
	q := &queue{leases: leases}
	q.value = objects{queue: q, states: map[applock.Object]*objectState{}}
	return q
}

// objects are what a queue is reached by, with the objects that somebody here holds, awaits or asks for.
type objects struct {
	queue  *queue
	states map[applock.Object]*objectState
	closed bool
	// sets are the calls that wait for several objects, the oldest first. favoured is the oldest while it alone may have its objects.
	sets     []*acquisition
	favoured *acquisition
	// sweeping is true while a timer runs that looks for waiters that nothing has woken, as it did at swept.
	sweeping bool
	swept    time.Time
}

// objectState is what this program knows of one object: the hold here, the waiters, and the unsettled takes. It exists while there is any of
// them, and is reached through objects.
type objectState struct {
	objects *objects
	object  applock.Object

	holder  *hold
	waiters list.List // of *waiter
	// unsettled counts abandoned takes that may have to be undone, and sets that take the object in passing. Until it is zero, nobody has a
	// turn. missed is true if that, a favoured set, or the attempt of one that was favoured has kept the first waiter from its attempt.
	unsettled int
	missed    bool
	// asking is true while a waiter makes an attempt: the first one, or that of a favoured set.
	asking bool
	// seen is the last known holder, here or elsewhere, and seenAt when it was seen.
	seen   applock.Holder
	seenAt time.Time
	// elsewhere is true after a refusal, until there is a hold here.
	elsewhere bool
	// row is the row of turns of this program, nil for none. Until pause it leaves the object to others. othersTurn is what is known of another
	// program's turn, nil if there has been none. fading is true while the object is about to be forgotten.
	row        *row
	pause      time.Time
	othersTurn *othersTurn
	fading     bool
	// leading is the first waiter, since led. listing is true while a timer runs that has waiters listed.
	leading *waiter
	led     time.Time
	listing bool
	// failure is why the last attempt failed, nil after a refusal.
	failure error
	// news, if not nil, is closed when one of the above changes.
	news chan struct{}
}

// waiter is a caller in the queue of an object. The fields from claim on are reached through the object's state; without it, the caller reads
// what only it changes: watched and listing, and what nobody changes: all of the claim but the operator.
type waiter struct {
	asker   context.Context //nolint:containedctx // the caller's, for the lease that it gets by a pass
	element *list.Element
	woken   chan struct{}
	came    time.Time

	claim *claim
	// watched is true once polls ask for the waiter. listing is in the backend's list, nil if it is not listed.
	watched bool
	listing *listing
	// heeds is true while the waiter sleeps and can get the object by a pass. gone is true when it has left.
	heeds, gone bool
	// passed is the result of a pass, until the waiter takes it.
	passed *passed
}

// rename gives a waiter a new name if an attempt with this result has used up its own.
func (w *waiter) rename(ended error) {
	if isSpent(*w.claim, ended) {
		w.claim.owner.Operator = uniqueName()
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default: // a wake is pending
	}
}

// of returns an object's state, and creates it if needed.
func (o *objects) of(object applock.Object) *objectState {
	found := o.states[object]
	if found == nil {
		found = &objectState{objects: o, object: object}
		o.states[object] = found
	}
	return found
}

// first returns the first waiter.
func (s *objectState) first() *waiter {
	if s.waiters.Len() == 0 {
		return nil
	}
	first, _ := s.waiters.Front().Value.(*waiter)
	return first
}

// next returns the waiter whose turn it is when the object is free here: the first one, or that of the favoured set, nil while this waits for
// another object.
func (s *objectState) next() *waiter {
	favoured := s.objects.favoured
	switch {
	case favoured == nil || !favoured.wants(s.object):
		return s.first()
	case favoured.waiter != nil && favoured.waiter.claim.object == s.object:
		return favoured.waiter
	}
	return nil
}

// notify wakes the callers that wait for news of the object.
func (s *objectState) notify() {
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
}

// see records the holder of the object.
func (s *objectState) see(holder applock.Holder, elsewhere bool) {
	s.seen, s.seenAt, s.elsewhere, s.failure = holder, time.Now(), elsewhere, nil
}

// taken records a new hold.
func (s *objectState) taken(holder *hold) {
	s.holder = holder
	s.see(holder.asHolder(), false)
	s.row = s.row.taken()
	s.endOthersTurn()
	s.notify()
}

// verdict says why a waiter does not have the object, as far as this program knows, and nil without an answer. A holder counts if it was
// seen since the waiter came, or if it is still waited for. A holder that was seen before an outage began may be gone.
func (s *objectState) verdict(self *waiter, outage outage) error {
	if s.holder != nil {
		s.see(s.holder.asHolder(), false)
	}
	wasSeen := s.elsewhere || !s.seenAt.Before(self.came)
	switch {
	case s.failure != nil && (isOutage(s.failure) || !wasSeen):
		return s.failure
	case wasSeen && (s.holder != nil || outage.err == nil || s.seenAt.After(outage.since)):
		return &applock.HeldError{Object: self.claim.object, Holder: s.seen}
	}
	return outage.err
}

// advance wakes the first waiter if it is its turn now, and forgets an unused object.
func (s *objectState) advance() {
	first := s.first()
	s.notify()
	switch {
	case s.holder != nil:
	case s.unsettled > 0:
		s.missed = true
	case first == nil:
		s.forget()
	default:
		next := s.next()
		s.missed = next != first
		if next != nil {
			next.wake() // if the object is left to others, it is listed
		}
	}
}

// forget forgets an unused object. If this program's row of turns was recent, forget waits for a moment: a waiter that comes meanwhile
// continues the row.
func (s *objectState) forget() {
	isUnused := s.holder == nil && s.unsettled == 0 && s.first() == nil
	switch {
	case !isUnused || s.fading:
	case (!s.isShared() || s.row.isPast() && !s.isLeft()) && s.objects.states[s.object] == s:
		delete(s.objects.states, s.object)
	default:
		s.fading = true
		s.later(rowGap, func() {
			s.fading = false
			s.forget()
		})
	}
}

// isShared reports whether other programs can take the object, too.
func (s *objectState) isShared() bool { return s.objects.queue.leases.isShared }

// later changes the state after a pause.
func (s *objectState) later(pause time.Duration, change func()) {
	s.objects.queue.later(pause, func(*objects) { change() })
}

func (q *queue) later(pause time.Duration, change func(objects *objects)) {
	time.AfterFunc(pause, func() {
		objects, unlock := q.lock()
		defer unlock()
		change(objects)
	})
}

// lead keeps the first waiter, and has it listed if it stays the first one. Otherwise it could be asleep.
func (s *objectState) lead() {
	first := s.first()
	if first != s.leading {
		s.leading, s.led = first, time.Now()
	}
	if first != nil && !s.listing && s.isShared() {
		s.listAfter(unlistedWait)
	}
}

// listAfter wakes those waiters after a pause that are to be listed then, and goes on with the others.
func (s *objectState) listAfter(pause time.Duration) {
	s.listing = true
	s.later(pause, func() {
		s.listing = false
		for w := range s.firsts() {
			left := s.unlistedFor(w)
			switch {
			case w.watched:
			case left > 0:
				s.listAfter(left)
				return
			default:
				w.wake()
			}
		}
	})
}

// unlistedFor is for how much longer a waiter is not to be listed, unless the first one changes.
func (s *objectState) unlistedFor(w *waiter) time.Duration {
	switch {
	case w != s.first():
		return unlistedBehind - time.Since(s.led)
	case s.elsewhere || s.isLeft():
		return 0
	}
	return unlistedWait - time.Since(s.led)
}

// firsts are the waiters that are listed, in the end.
func (s *objectState) firsts() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for at, n := s.waiters.Front(), 0; at != nil && n < mostListed; at, n = at.Next(), n+1 {
			if w, _ := at.Value.(*waiter); !yield(w) {
				return
			}
		}
	}
}

// vacate removes a hold from its object.
func (q *queue) vacate(h *hold) {
	objects, unlock := q.lock()
	defer unlock()
	state := objects.states[h.grant.Object]
	if state == nil || state.holder != h {
		return
	}
	state.see(h.asHolder(), false)
	if state.row != nil {
		state.row.ended = time.Now()
	}
	state.holder = nil
	state.endRow()
	state.advance()
}

// enqueue keeps the claim, whose operator may change from now on.
func (q *queue) enqueue(asker context.Context, claim *claim) (*waiter, error) {
	objects, unlock := q.lock()
	defer unlock()
	if objects.closed {
		return nil, applock.ErrClosed
	}
	self := &waiter{asker: asker, claim: claim, woken: make(chan struct{}, 1), came: time.Now()}
	state := objects.of(claim.object)
	self.element = state.waiters.PushBack(self)
	if claim.set != nil {
		claim.set.waiter = self
	}
	state.lead()
	objects.sweepLater()
	return self, nil
}

// sweepLater has waiters woken after lookAgain, and again and again, by one timer for all of them.
func (o *objects) sweepLater() {
	if o.sweeping {
		return
	}
	o.sweeping, o.swept = true, time.Now()
	time.AfterFunc(sweepPause, func() {
		_, unlock := o.queue.lock()
		defer unlock()
		o.sweeping = false
		before := o.swept
		for _, state := range o.states {
			first := state.first()
			if first == nil {
				continue
			}
			o.sweepLater()
			if time.Since(state.led)/lookAgain > before.Sub(state.led)/lookAgain {
				first.wake()
			}
		}
	})
}

// lockFor is lock, with the state of the waiter's object.
func (q *queue) lockFor(self *waiter) (state *objectState, unlock func()) {
	objects, unlock := q.lock()
	return objects.states[self.claim.object], unlock
}

// dequeue removes a waiter. An object that was passed on to it meanwhile goes to the next one.
func (q *queue) dequeue(self *waiter) {
	state, unlock := q.lockFor(self)
	defer unlock()
	state.waiters.Remove(self.element)
	state.lead()
	self.gone = true
	if self.passed != nil && self.passed.lease != nil {
		q.leases.abandon(self.passed.lease)
	}
	state.advance()
}

// isTurnOf reports whether a waiter may make an attempt now. A caller that does not wait need not leave the object to others.
func (q *queue) isTurnOf(self *waiter, waits bool) bool {
	state, unlock := q.lockFor(self)
	defer unlock()
	switch {
	case state.holder != nil || waits && state.isLeft():
		return false
	case waits && state.next() != self:
		state.missed = state.missed || state.first() == self
		return false
	case !waits && state.first() != self:
		return false
	}
	state.missed = state.unsettled > 0 || state.asking
	return !state.missed
}

// list lists a waiter until limit if it is to be, as one of the first, and reports whether it is to be polled for from now on.
func (q *queue) list(self *waiter, limit time.Time) bool {
	state, unlock := q.lockFor(self)
	defer unlock()
	for w := range state.firsts() {
		if w == self && !w.watched && state.unlistedFor(w) <= 0 {
			w.watched = true
			if q.leases.lister != nil {
				w.listing = q.leases.lister.list(*w.claim, limit)
			}
			return true
		}
	}
	return false
}

// beginAsking returns the claim for the waiter's attempt. endAsking records the attempt's result.
func (q *queue) beginAsking(self *waiter) claim {
	state, unlock := q.lockFor(self)
	defer unlock()
	state.asking = true
	return *self.claim
}

func (q *queue) endAsking(self *waiter, ended error) {
	state, unlock := q.lockFor(self)
	defer unlock()
	state.asking = false
	self.rename(ended)
	if next := state.next(); state.missed && next != nil && next != self {
		next.wake()
	}
}

// failureOf returns why the waiter's last attempt failed, or nil if the object was held. Only after nil does a wake end the waiter's sleep.
func (q *queue) failureOf(self *waiter) error {
	state, unlock := q.lockFor(self)
	defer unlock()
	isBehind := state.holder != nil || state.next() != self
	self.heeds = self.claim.set == nil && (isBehind || state.failure == nil)
	if isBehind {
		return nil
	}
	return state.failure
}

// learn records the result of an attempt: the holder, or the failure.
func (q *queue) learn(self *waiter, err error) {
	state, unlock := q.lockFor(self)
	defer unlock()
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		state.see(held.Holder, true)
		state.row = nil
	case isBusy(err) || isOutage(err):
		state.failure = err
	}
	state.notify()
}

func (q *queue) verdict(self *waiter) error {
	outage := q.leases.hub.outage()
	state, unlock := q.lockFor(self)
	defer unlock()
	return state.verdict(self, outage)
}

// awaitNews returns why the object cannot be had, or a channel that is closed when more is known.
func (q *queue) awaitNews(self *waiter) (news <-chan struct{}, verdict error) {
	outage := q.leases.hub.outage()
	state, unlock := q.lockFor(self)
	defer unlock()
	if verdict := state.verdict(self, outage); verdict != nil {
		return nil, verdict
	}
	if state.news == nil {
		state.news = make(chan struct{})
	}
	return state.news, nil
}

// countUnsettled counts the calls whose effect is not yet known or undone.
func (q *queue) countUnsettled(claims []claim, calls int) {
	objects, unlock := q.lock()
	defer unlock()
	for _, claim := range claims {
		state := objects.of(claim.object)
		state.unsettled += calls
		state.advance()
	}
}

// close refuses new leases from now on. The first call returns the holds.
func (q *queue) close() (open []*hold, first bool) {
	objects, unlock := q.lock()
	defer unlock()
	if objects.closed {
		return nil, false
	}
	objects.closed = true
	for _, state := range objects.states {
		if state.holder != nil {
			open = append(open, state.holder)
		}
	}
	return open, true
}

// isClosed reports whether Close may have missed a hold that exists now.
func (q *queue) isClosed() bool {
	objects, unlock := q.lock()
	defer unlock()
	return objects.closed
}
