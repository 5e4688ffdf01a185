package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// The tests of this file play what only the table offers, which other packages cannot, or a database that answers late.

// playedOffers lists waiters, tells of releases and transfers as its functions say; nil ones do nothing.
type playedOffers struct {
	free        bool // can be acquired; otherwise another operator holds it for ever
	announced   func()
	retracted   func(ctx context.Context) error
	listening   func() (Listener, error)
	transferred func() error
	polls       atomic.Int64
}

var (
	_ Poller      = (*playedOffers)(nil)
	_ Announcer   = (*playedOffers)(nil)
	_ Notifier    = (*playedOffers)(nil)
	_ Transferrer = (*playedOffers)(nil)
)

func (b *playedOffers) Get(_ context.Context, object applock.Object, owner applock.Owner, _ time.Duration) (applock.Grant, error) {
	if b.free {
		return applock.Grant{Object: object, Owner: owner, Fence: 1}, nil
	}
	return applock.Grant{}, &applock.HeldError{Object: object, Holder: applock.Holder{Owner: applock.Owner{Operator: "etl-7"}}}
}

func (b *playedOffers) Release(context.Context, applock.Grant) error { return nil }

func (b *playedOffers) Renew(context.Context, []Renewal) ([]Renewed, error) { return nil, nil }

func (b *playedOffers) Poll(context.Context, iter.Seq[applock.Object]) (PollAnswer, error) {
	b.polls.Add(1)
	return PollAnswer{}, nil
}

func (b *playedOffers) Announce(context.Context, applock.Object, applock.Owner, time.Duration) error {
	if b.announced != nil {
		b.announced()
	}
	return nil
}

func (b *playedOffers) Retract(ctx context.Context, _ applock.Object, _ string) error {
	if b.retracted == nil {
		return nil
	}
	return b.retracted(ctx)
}

func (b *playedOffers) Listen(context.Context) (Listener, error) {
	if b.listening == nil {
		return nil, errors.ErrUnsupported
	}
	return b.listening()
}

func (b *playedOffers) Transfer(context.Context, applock.Grant, applock.Owner, time.Duration) (applock.Grant, error) {
	return applock.Grant{}, b.transferred()
}

func playOffers(t *testing.T, backend *playedOffers, test func(t *testing.T, leases *Leases)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leases := New(backend, Config{})
		defer func() { _ = leases.Close() }()
		test(t, leases)
	})
}

func nightly() applock.AcquireRequest {
	return applock.AcquireRequest{Object: applock.Object{Type: "job", ID: "nightly"}, MaxHold: time.Hour}
}

func nightlyWithin(maxWait time.Duration) applock.AcquireRequest {
	request := nightly()
	request.MaxWait = maxWait
	return request
}

// Goal: a caller that has stopped waiting does not stay listed for ever. Method: the call that removes it has no answer, and then fails.
func TestRetractionIsRepeated(t *testing.T) {
	t.Parallel()
	var calls, listed atomic.Int64
	backend := &playedOffers{
		announced: func() { listed.Add(1) },
		retracted: func(ctx context.Context) error {
			switch calls.Add(1) {
			case 1:
				<-ctx.Done()
				return ctx.Err()
			case 2:
				return errors.New("connection refused")
			}
			listed.Add(-1)
			return nil
		},
	}
	playOffers(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Second))
		time.Sleep(15 * time.Second)
		if listed.Load() != 0 || calls.Load() != 3 {
			t.Errorf("%d are listed 15 s later, after %d calls, want none after 3", listed.Load(), calls.Load())
		}
	})
}

// played is a listener that hears nothing, and is slow to close.
type played struct{ closing chan struct{} }

func (p played) Next(ctx context.Context) (Message, error) {
	<-ctx.Done()
	return Message{}, ctx.Err()
}

func (p played) Close() error {
	close(p.closing)
	time.Sleep(2 * time.Second)
	return nil
}

// Goal: polls are rare while messages arrive, even if the former listener ends after the next one has begun. Method: the waiters end, and a
// new one comes while their listener is being closed.
func TestNextListenerCounts(t *testing.T) {
	t.Parallel()
	closings := make(chan chan struct{}, 2)
	backend := &playedOffers{listening: func() (Listener, error) {
		listener := played{closing: make(chan struct{})}
		closings <- listener.closing
		return listener, nil
	}}
	playOffers(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Second))
		left := time.Now()
		<-<-closings
		if stayed := time.Since(left); stayed < 9*time.Second || stayed > 25*time.Second {
			t.Errorf("the listener stayed for %s without waiters, want some 10 s", stayed)
		}
		go func() { _, _ = leases.Acquire(t.Context(), nightly()) }()
		time.Sleep(time.Minute)
		backend.polls.Store(0)
		time.Sleep(10 * time.Minute)
		if n := backend.polls.Load(); n > 200 || len(closings) != 1 {
			t.Errorf("%d polls in 10 min beside %d listeners, want one in 5 s beside one", n, len(closings))
		}
		second := nightly()
		second.Object.ID = "second"
		backend.polls.Store(0)
		go func() { _, _ = leases.Acquire(t.Context(), second) }()
		time.Sleep(500 * time.Millisecond)
		if backend.polls.Load() == 0 {
			t.Error("no poll after a newcomer, whom a release may not have seen")
		}
	})
}

// Goal: a database without messages is not complained of. Method: wait for an hour, and read the log.
func TestNoMessagesNoLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		leases := New(&playedOffers{}, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		_, err := leases.TryAcquire(t.Context(), nightlyWithin(time.Hour))
		_ = leases.Close()
		if !errors.Is(err, applock.ErrHeld) || log.Len() > 0 {
			t.Errorf("try to acquire: %v, want ErrHeld; logged: %.500s", err, log.String())
		}
	})
}

// Goal: a listener that cannot begin is tried again, and not at once. Method: a database without one for a minute.
func TestListenersAreTriedAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	backend := &playedOffers{listening: func() (Listener, error) {
		calls.Add(1)
		return nil, errors.New("connection refused")
	}}
	playOffers(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Minute))
		if n := calls.Load(); n < 3 || n > 10 {
			t.Errorf("%d calls in a minute, want one in 10 s", n)
		}
	})
}

// Goal: a name that is nobody else's is a valid operator, whatever the host's name is.
func TestUniqueNamesFit(t *testing.T) {
	t.Parallel()
	if name := nameOn(strings.Repeat("Wächter 1 ", 30)); utf8.RuneCountInString(name) > 64 || strings.Contains(name, " ") {
		t.Errorf("%q is too long for an operator, or has blanks", name)
	}
}

// Goal: pauses differ, so that programs do not poll at the same time. Method: the least and the greatest chance.
func TestJitter(t *testing.T) {
	t.Parallel()
	playOffers(t, &playedOffers{}, func(t *testing.T, leases *Leases) {
		var pauses [2]time.Duration
		for i := range pauses {
			leases.hub.value.random = func() float64 { return float64(i) }
			pauses[i] = leases.hub.about(10 * time.Second)
		}
		if pauses[0] >= pauses[1] || pauses[0] < 5*time.Second || pauses[1] > 15*time.Second {
			t.Errorf("pauses from %s to %s, want some around 10 s", pauses[0], pauses[1])
		}
	})
}

// Goal: the last get of a client's wait is not cut off, since its outcome would be unknown. Method: a get that waits for a row as long as MySQL does,
// up to 2 s, and a moment for its way, beginning just before the wait ends.
func TestTheLastGetIsNotCutOff(t *testing.T) {
	t.Parallel()
	playOffers(t, &playedOffers{}, func(t *testing.T, leases *Leases) {
		get := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2100 * time.Millisecond):
				return applock.ErrBusy
			}
		}
		owner := applock.Owner{Operator: "JDOE"}
		err := (&clientLeases{Leases: leases}).Wait(t.Context(), nightly().Object, owner, time.Millisecond, get)
		if !errors.Is(err, applock.ErrBusy) {
			t.Errorf("%v, want the answer of the get", err)
		}
	})
}

// Goal: after a transfer with an unknown outcome the lease is not trusted, because the object may be the new owner's.
// Method: a lease without a TTL, which nothing else would end.
func TestTransferWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	backend := &playedOffers{free: true, transferred: func() error { return fmt.Errorf("%w: connection reset", applock.ErrOutcomeUnknown) }}
	playOffers(t, backend, func(t *testing.T, leases *Leases) {
		lease, err := leases.Acquire(t.Context(), nightly())
		if err != nil {
			t.Fatal(err)
		}
		_, err = lease.Transfer(t.Context(), applock.Owner{Operator: "ASMITH"}, 0)
		if cause := context.Cause(lease.Context()); !errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(cause, applock.ErrLost) {
			t.Errorf("transfer: %v, and the lease ended with %v, want ErrOutcomeUnknown and ErrLost", err, cause)
		}
	})
}

// retractsMany is a backend that removes many names from the list in one call.
type retractsMany struct {
	*playedOffers

	many func(names int)
}

func (b retractsMany) retractMany(_ context.Context, waiters []listingKey) error {
	b.many(len(waiters))
	return nil
}

// Goal: many who are cancelled at once leave at once, and are off the list soon. Method: waiters on a backend that removes one name in a
// millisecond, several at a time, and on one that removes many.
func TestManyCancelledWaiters(t *testing.T) {
	t.Parallel()
	const waiters = 2000
	for name, mostCalls := range map[string]int64{"one": waiters, "many": waiters / 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var listed, calls atomic.Int64
				retract := func(names int) {
					time.Sleep(time.Millisecond)
					calls.Add(1)
					listed.Add(int64(-names))
				}
				offers := &playedOffers{announced: func() { listed.Add(1) }, retracted: func(context.Context) error {
					retract(1)
					return nil
				}}
				var backend Backend = offers
				if name == "many" {
					backend = retractsMany{playedOffers: offers, many: retract}
				}
				leases := New(backend, Config{})
				defer func() { _ = leases.Close() }()
				ctx, cancel := context.WithCancel(t.Context())
				var group sync.WaitGroup
				for i := range waiters {
					request := nightly()
					request.Object.ID = fmt.Sprint(i)
					group.Go(func() { _, _ = leases.Acquire(ctx, request) })
				}
				time.Sleep(time.Minute)
				if n := listed.Load(); n != waiters {
					t.Errorf("%d are listed, want %d", n, waiters)
				}
				began := time.Now()
				cancel()
				group.Wait()
				if took := time.Since(began); took > 0 {
					t.Errorf("the last one returned after %s, want at once", took)
				}
				time.Sleep(waiters / 4 * time.Millisecond)
				if n := listed.Load(); n > 0 || calls.Load() > mostCalls {
					t.Errorf("%d are listed after a quarter of their milliseconds and %d calls, want none after %d at the most", n, calls.Load(), mostCalls)
				}
			})
		})
	}
}

// Goal: a waiter that a holder of the same program serves soon causes no call to the list and no poll. Method: forty hand-overs between
// two callers, each of whom holds for 10 ms.
func TestShortWaitsAreNotListed(t *testing.T) {
	t.Parallel()
	var announced atomic.Int64
	backend := &playedOffers{free: true, announced: func() { announced.Add(1) }}
	playOffers(t, backend, func(t *testing.T, leases *Leases) {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for range 20 {
					lease, err := leases.Acquire(t.Context(), nightly())
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(10 * time.Millisecond)
					_ = lease.Release(t.Context())
				}
			})
		}
		group.Wait()
		if n, polls := announced.Load(), backend.polls.Load(); n > 0 || polls > 0 {
			t.Errorf("%d announcements and %d polls, want none", n, polls)
		}
	})
}

// Goal: one more lease costs the same however many are held: it wakes the renewals only if it is due before all others. Method: thousands of
// the same TTL, and one whose grant took long.
func TestOnlyTheFirstDueWakesRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := New(&playedOffers{free: true}, Config{})
		defer func() { _ = leases.Close() }()
		holds, unlock := leases.keeper.lock()
		defer unlock()
		woken := func(age time.Duration) bool {
			h := &hold{leases: leases, ttl: time.Minute, interval: time.Minute / renewalsPerTTL}
			h.tenure = tenure{hold: h, holds: holds}
			holds.add(h, time.Now().Add(-age))
			select {
			case <-leases.keeper.woken:
				return true
			default:
				return false
			}
		}
		wakes := 0
		for range 5000 {
			if woken(0) {
				wakes++
			}
		}
		if most := 5000 / grantsPerCall; wakes >= most {
			t.Errorf("%d of 5000 have woken the renewals, want less than %d", wakes, most)
		}
		if !woken(19 * time.Second) {
			t.Error("one whose grant took long, so that it is due before all others has woken nobody")
		}
	})
}

// Goal: leases whose events nobody asks for cost nothing for them. Method: allocations of telling nobody.
// It is not parallel: allocations are those of the whole program.
func TestHooksForNobodyAllocateNothing(t *testing.T) {
	h, nobody := &hold{asker: t.Context()}, &teller{}
	lost := h.lost(applock.ErrNotHeld)
	if allocated := testing.AllocsPerRun(100, func() {
		nobody.waited(h.asker, h.grant.Object, h.began, nil)
		nobody.ended(h, errReleased)
		nobody.ended(h, lost)
	}); allocated != 0 {
		t.Errorf("%g allocations", allocated)
	}
}

// readied is a backend that counts how often it is to make ready what renewals need.
type readied struct {
	Backend
	times atomic.Int64
}

func (b *readied) prepareToRenew(context.Context) error {
	b.times.Add(1)
	return nil
}

// Goal: a connection for renewals is prepared when there are leases to renew soon, and not for each of them. Method: leases without a TTL
// and with a long one; then two with a short one, and one more after a minute.
func TestRenewalsAreMadeReadyOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &readied{Backend: &playedOffers{free: true}}
		leases := New(backend, Config{})
		defer func() { _ = leases.Close() }()
		take := func(id string, ttl time.Duration, want int64) {
			t.Helper()
			request := applock.AcquireRequest{Object: applock.Object{Type: "job", ID: id}, MaxHold: 10 * time.Minute, TTL: ttl}
			if _, err := leases.TryAcquire(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := backend.times.Load(); n != want {
				t.Errorf("made ready %d times, want %d", n, want)
			}
		}
		take("none", 0, 0)
		take("long", 5*time.Minute, 0)
		take("short", 9*time.Second, 1)
		take("second", 9*time.Second, 1)
		time.Sleep(50 * time.Second)
		take("third", 9*time.Second, 1)
		time.Sleep(10 * time.Second)
		take("later", 9*time.Second, 2)
	})
}

// Goal: a row of turns ends when it is long and others wait; and where nobody knows whether they do, when it is twice as long. A gap begins
// another one. Method: rows of turns without a backend.
func TestARowEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasts, gap time.Duration
		turns      int
		others     bool
		knows      bool
		isOver     bool
	}{
		"short":              {lasts: longRow - 1, others: true, knows: true},
		"long":               {lasts: longRow, others: true, knows: true, isOver: true},
		"alone":              {lasts: time.Hour, knows: true},
		"unknown":            {lasts: longestRow - 1},
		"unknown, long":      {lasts: longestRow, turns: 2, isOver: true},
		"unknown, one turn":  {lasts: longestRow, turns: 1},
		"a gap within a row": {lasts: longRow, gap: rowGap - 1, others: true, knows: true, isOver: true},
		"a gap":              {lasts: longRow, gap: rowGap, others: true, knows: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			leases := &Leases{isShared: true}
			if c.knows {
				leases.crowd = crowdOf(true)
			}
			s := objectState{objects: &objects{queue: newQueue(leases)}}
			s.row = s.row.taken()
			time.Sleep(c.lasts)
			s.row.ended = time.Now()
			time.Sleep(c.gap)
			if c.turns != 1 {
				s.row = s.row.taken()
			}
			s.row.others = c.others
			if s.isRowOver() != c.isOver {
				t.Errorf("%s: over: %t, want %t", name, !c.isOver, c.isOver)
			}
		})
	}
}

// Goal: another program has patience for its turn, from when it is told first of it after the object was seen held, and longer where one of the
// last polls was slow. Method: told thrice within little more than patience.
func TestPatienceForAnothersTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slow     time.Duration
		isHeld   bool
		isPassed bool
	}{
		"quick polls": {isPassed: true},
		"a slow poll": {slow: patience},
		"seen held":   {isHeld: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			leases := &Leases{isShared: true, crowd: crowdOf(true)}
			leases.queue, leases.hub = newQueue(leases), newHub(leases)
			leases.hub.value.random = func() float64 { return 0.5 } // no jitter
			leases.hub.value.changed = time.Now()
			leases.hub.value.way.addPoll(c.slow)
			leases.hub.value.way.addPoll(0)
			leases.hub.value.way.addPoll(0)
			object := applock.Object{Type: "account", ID: "1"}
			var isPassed bool
			for range 3 {
				objects, unlock := leases.queue.lock()
				isPassed = objects.of(object).isPassedOver(time.Now())
				unlock()
				if c.isHeld {
					leases.queue.seeHeld(object)
				}
				time.Sleep(patience * 3 / 5)
			}
			if isPassed != c.isPassed {
				t.Errorf("%s: passed over: %t, want %t", name, isPassed, c.isPassed)
			}
		})
	}
}

// crowdOf is a Crowd that always gives the same answer.
type crowdOf bool

func (c crowdOf) Others(context.Context, applock.Object) (ahead, behind int, err error) {
	if c {
		ahead = 1
	}
	return ahead, 0, nil
}
