package applock

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/internal/db"
)

// Leases takes leases on a backend, for one program: it re-enters, queues, renews and watches. It holds no connection
// for a lease or for a waiter. It is safe for concurrent use, and has goroutines only while there are leases to renew,
// or waiters.
type Leases struct {
	backend Backend
	logger  *slog.Logger
	check   time.Duration
	waiters *hub
	chores  chores
	stopped context.Context //nolint:containedctx // it ends the goroutines
	stop    context.CancelFunc
	// farewell ends some time after Close, for what still has to be said to the backend.
	farewell context.Context //nolint:containedctx // as above
	leave    context.CancelFunc

	mutex  sync.Mutex
	places map[Object]*place
	kept   map[*hold]struct{} // to renew or to check
	closed bool
	// renewing is true while the renewer runs; hurry tells it of a new hold.
	renewing bool
	hurry    chan struct{}

	background background
}

// LeasesConfig is what a backend needs beside itself.
type LeasesConfig struct {
	// CheckInterval, if set, is how often leases are checked, also those without a TTL, for backends that lose grants
	// before they expire.
	CheckInterval time.Duration
	// Logger gets what goes wrong in the background; nil logs nothing.
	Logger *slog.Logger
}

// NewLeases returns leases on a backend. Those on the table come with [Client]; the packages below this one have
// others.
func NewLeases(backend Backend, config LeasesConfig) *Leases {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	leases := &Leases{
		backend: backend,
		logger:  logger,
		check:   max(config.CheckInterval, 0),
		places:  map[Object]*place{},
		kept:    map[*hold]struct{}{},
		hurry:   make(chan struct{}, 1),
	}
	leases.background.idle = sync.NewCond(&leases.background.mutex)
	leases.stopped, leases.stop = context.WithCancel(context.Background())
	leases.farewell, leases.leave = context.WithCancel(context.Background())
	leases.waiters = newHub(leases)
	return leases
}

// Close ends all leases: it releases them, and their contexts end with ErrLost. Who waits gets an error. It returns
// when no goroutine is left, or after 5 s where the backend does not answer.
func (l *Leases) Close() {
	l.mutex.Lock()
	l.closed = true
	var open []*hold
	for _, place := range l.places {
		if place.holder != nil {
			open = append(open, place.holder)
		}
	}
	l.mutex.Unlock()
	l.stop()
	limit := time.AfterFunc(releaseLimit, l.leave)
	defer limit.Stop()
	for _, h := range open {
		if h.end(&lostError{cause: errClosed}) {
			grant, _ := h.state()
			l.background.Go(func() { _ = l.release(l.farewell, grant) }) // it expires by itself if this fails
		}
	}
	l.background.Wait()
	l.leave()
	if backend, ok := l.backend.(io.Closer); ok {
		_ = backend.Close() // nothing is held in it any more
	}
}

// untilFarewell returns a context that ends with ctx, and some time after Close.
func (l *Leases) untilFarewell(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(l.farewell, cancel)
	return limited, func() {
		forget()
		cancel()
	}
}

// isClosed reports whether a hold that is there now may have been overlooked by Close.
func (l *Leases) isClosed() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.closed
}

var errClosed = errors.New("closed: no more leases")

// background counts the goroutines. Unlike a sync.WaitGroup it may begin one while somebody waits for the last.
type background struct {
	mutex   sync.Mutex
	idle    *sync.Cond
	running int
}

// Go runs a function in a goroutine that Wait waits for.
func (b *background) Go(run func()) {
	b.begin()
	go func() {
		defer b.done()
		run()
	}()
}

// begin counts this goroutine, too, until done.
func (b *background) begin() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.running++
}

func (b *background) done() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.running--
	b.idle.Broadcast()
}

// Wait waits until no goroutine is left.
func (b *background) Wait() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.running > 0 {
		b.idle.Wait()
	}
}

// forever is the wait without limit.
const forever = time.Duration(math.MaxInt64)

// place is what goes on here on one object. It is there while somebody holds the object here or waits for it.
type place struct {
	holder *hold
	queue  list.List // of *waiter, first come first
	// pending counts calls that were abandoned and may still have to be undone.
	pending int
	// refused is who held the object at the last refusal.
	refused Holder
}

type waiter struct {
	object  Object
	owner   Owner
	element *list.Element
	wake    chan struct{}
}

// place returns what goes on on an object; the mutex is held.
func (l *Leases) place(object Object) *place {
	found := l.places[object]
	if found == nil {
		found = &place{}
		l.places[object] = found
	}
	return found
}

// first returns who is at the head of the queue.
func (p *place) first() *waiter {
	if p.queue.Len() == 0 {
		return nil
	}
	first, _ := p.queue.Front().Value.(*waiter)
	return first
}

// holderNow returns who is known to have the object, or to be about to, as far as asking is concerned.
func (p *place) holderNow(asking *waiter) Holder {
	first := p.first()
	switch {
	case p.holder != nil:
		return Holder{Owner: p.holder.grant.Owner, ExpiresAt: p.holder.grant.ExpiresAt}
	case p.refused.Operator != "" || first == nil || first == asking:
		return p.refused
	}
	return Holder{Owner: first.owner}
}

// advance wakes who is first if it is its turn now, and forgets an object that nobody is concerned with; the mutex is
// held.
func (l *Leases) advance(object Object, place *place) {
	first := place.first()
	switch {
	case place.holder != nil || place.pending > 0:
	case first == nil:
		delete(l.places, object)
	default:
		first.nudge()
	}
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
	place := l.places[h.grant.Object]
	if place == nil || place.holder != h {
		return
	}
	place.holder = nil
	l.advance(h.grant.Object, place)
}

// nudge wakes who is first in the queue of an object that is said to be free since asked. If it is held here, its
// holder may have lost it without knowing.
func (l *Leases) nudge(object Object, asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	place := l.places[object]
	switch {
	case place == nil:
	case place.holder != nil && place.holder.cause == nil && place.holder.began.Before(asked):
		l.verify(place.holder)
	case place.first() != nil:
		place.first().nudge()
	}
}

// queue makes attempts until one succeeds or fails otherwise than by a *HeldError: when it is this caller's turn here,
// and each time that the object could be free.
func (l *Leases) queue(
	ctx context.Context, claim claim, maxWait time.Duration, attempt func(limited context.Context) error,
) error {
	self, err := l.enqueue(claim)
	if err != nil {
		return err
	}
	defer l.dequeue(self)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if maxWait > 0 && maxWait < forever {
		limited, cancel = context.WithTimeout(ctx, maxWait)
	}
	defer cancel()
	var asked time.Time
	for listed := false; ; {
		if l.isTurnOf(self) {
			asked = time.Now()
			err := attempt(limited)
			ended := errors.Is(err, context.Cause(limited)) && !errors.Is(err, ErrOutcomeUnknown)
			if err == nil || !l.isToWait(self, err, maxWait) && !ended {
				return err
			}
		}
		if maxWait == 0 {
			return l.refusal(self)
		}
		if !listed && limited.Err() == nil {
			listed = true
			defer l.waiters.remove(claim)
			if err := l.waiters.add(limited, claim, maxWait); err != nil && limited.Err() == nil {
				return err
			}
		}
		if err := l.pause(limited, self); err != nil {
			return err
		}
		if limited.Err() != nil {
			return l.lastAttempt(ctx, self, asked, attempt)
		}
	}
}

// lastAttempt ends a wait: with the cause if ctx has ended it, and else with an answer that is not older than a second.
func (l *Leases) lastAttempt(ctx context.Context, self *waiter, asked time.Time, attempt func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), l.refusal(self))
	}
	if time.Since(asked) < lastAnswer || !l.isTurnOf(self) {
		return l.refusal(self)
	}
	limited, cancel := context.WithTimeout(ctx, lastAnswer)
	defer cancel()
	err := attempt(limited)
	if err == nil || !l.isToWait(self, err, lastAnswer) && limited.Err() == nil {
		return err
	}
	return l.refusal(self)
}

// lastAnswer is how old the answer to a waiter may be, and how long a newer one may take.
const lastAnswer = time.Second

// lookAgain is after what time a waiter asks for itself, should everything else have failed to wake it.
const lookAgain = 5 * time.Minute

// pause waits until the waiter is to try again, or limited ends.
func (l *Leases) pause(limited context.Context, self *waiter) error {
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-limited.Done():
	case <-self.wake:
	case <-again.C:
	case <-l.stopped.Done():
		return errClosed
	}
	return nil
}

func (l *Leases) enqueue(claim claim) (*waiter, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, errClosed
	}
	self := &waiter{object: claim.object, owner: claim.owner, wake: make(chan struct{}, 1)}
	self.element = l.place(claim.object).queue.PushBack(self)
	return self, nil
}

func (l *Leases) dequeue(self *waiter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	place := l.places[self.object]
	place.queue.Remove(self.element)
	l.advance(self.object, place)
}

func (l *Leases) isTurnOf(self *waiter) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	place := l.places[self.object]
	return place.holder == nil && place.pending == 0 && place.first() == self
}

// isToWait reports whether an attempt has failed because of somebody else, and remembers who. That is also a transaction
// that is changing the lock, or asserts it, for longer than the database waits. A grant that came too late has been given
// back, and is asked for again.
func (l *Leases) isToWait(self *waiter, err error, maxWait time.Duration) bool {
	var held *HeldError
	if !errors.As(err, &held) {
		return maxWait > 0 && (db.KindOf(err) == db.KindBusy || errors.Is(err, errTooLate))
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.places[self.object].refused = held.Holder
	return true
}

func (l *Leases) refusal(self *waiter) *HeldError {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return &HeldError{Object: self.object, Holder: l.places[self.object].holderNow(self)}
}

// release ends a grant, and repeats calls that fail until releaseLimit. A grant that is gone after such a call has been
// released by it.
func (l *Leases) release(ctx context.Context, grant Grant) error {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	uncertain := false
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		err := l.backend.Release(ctx, grant)
		gone := errors.Is(err, ErrNotHeld) || errors.Is(err, ErrHeld)
		if gone && uncertain {
			return nil
		}
		if err == nil || gone || errors.Is(err, ErrInvalid) {
			return err
		}
		uncertain = true
		select {
		case <-ctx.Done():
			l.logger.LogAttrs(ctx, slog.LevelWarn, "a lease was not released and stays locked until it expires",
				slog.String("object", grant.Object.String()), slog.Any("error", err))
			return err
		case <-time.After(pause):
		}
	}
}

// chores runs what nobody waits for, one after the other.
type chores struct {
	mutex   sync.Mutex
	pending []func()
	running bool
}

// maxChores is how many may be pending.
const maxChores = 1000

// add returns false when there is too much to do already: the caller is to do it then.
func (c *chores) add(background *background, chore func()) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.pending) >= maxChores {
		return false
	}
	c.pending = append(c.pending, chore)
	if !c.running {
		c.running = true
		background.Go(c.run)
	}
	return true
}

func (c *chores) run() {
	for {
		c.mutex.Lock()
		if len(c.pending) == 0 {
			c.running = false
			c.mutex.Unlock()
			return
		}
		next := c.pending[0]
		c.pending = c.pending[1:]
		c.mutex.Unlock()
		next()
	}
}

const (
	maxHostName = 24
	randomChars = 16
)

// uniqueName returns host/process/random, which nobody else has, in no more characters than an operator may have.
func uniqueName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.ToValidUTF8(strings.ReplaceAll(host, " ", "_"), "_")
	return fmt.Sprintf("%.*s/%d/%s", maxHostName, host, os.Getpid(), rand.Text()[:randomChars])
}
