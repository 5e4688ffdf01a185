package lease

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
)

// The tests of this file hold the times and limits of the engine to what they are: each fails when its constant is halved or doubled. They write
// numbers, because the constants' names would change with them.

// timed is a backend whose calls are played by functions, nil ones as playedOffers does, and which notes when each call began and how long it took.
type timed struct {
	playedOffers

	get      func(ctx context.Context) error
	poll     func(ctx context.Context) error
	announce func(ctx context.Context) error
	retract  func(ctx context.Context) error
	renew    func(ctx context.Context) error
	release  func(ctx context.Context) error
	listen   func(ctx context.Context) (Listener, error)

	began time.Time
	mutex sync.Mutex
	at    map[string][]time.Duration
	took  map[string]time.Duration
	// running and most are how many calls are under way, and how many there were at most.
	running, most int
	// renewals are how many grants each call was for.
	renewals []int
}

var _ manyRetractor = (*retractsMany)(nil)

// note makes a call of some kind.
func (b *timed) note(ctx context.Context, kind string, call func(ctx context.Context) error) error {
	began := time.Now()
	b.mutex.Lock()
	b.at[kind] = append(b.at[kind], began.Sub(b.began))
	b.running++
	b.most = max(b.most, b.running)
	b.mutex.Unlock()
	var err error
	if call != nil {
		err = call(ctx)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.running--
	b.took[kind] = max(b.took[kind], time.Since(began))
	return err
}

func (b *timed) Get(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	if err := b.note(ctx, "get", b.get); err != nil {
		return applock.Grant{}, err
	}
	return b.playedOffers.Get(ctx, object, owner, ttl)
}

func (b *timed) Renew(ctx context.Context, renewals []Renewal) (answers []Renewed, err error) {
	b.mutex.Lock()
	b.renewals = append(b.renewals, len(renewals))
	b.mutex.Unlock()
	for _, renewal := range renewals {
		answers = append(answers, Renewed{Object: renewal.Grant.Object})
	}
	return answers, b.note(ctx, "renew", b.renew)
}

func (b *timed) Release(ctx context.Context, _ applock.Grant) error {
	return b.note(ctx, "release", b.release)
}

func (b *timed) Poll(ctx context.Context, _ iter.Seq[applock.Object]) (PollAnswer, error) {
	return PollAnswer{}, b.note(ctx, "poll", b.poll)
}

func (b *timed) Announce(ctx context.Context, _ applock.Object, _ applock.Owner, _ time.Duration) error {
	return b.note(ctx, "announce", b.announce)
}

func (b *timed) Retract(ctx context.Context, _ applock.Object, _ string) error {
	return b.note(ctx, "retract", b.retract)
}

func (b *timed) Listen(ctx context.Context) (listener Listener, err error) {
	_ = b.note(ctx, "listen", nil)
	if b.listen == nil {
		return nil, errors.ErrUnsupported
	}
	return b.listen(ctx)
}

// moments returns when the calls of a kind began.
func (b *timed) moments(kind string) []time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.Clone(b.at[kind])
}

// underWay is how many calls are under way.
func (b *timed) underWay() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.running
}

// gap returns the time from one of them to the next one.
func (b *timed) gap(t *testing.T, kind string, number int) time.Duration {
	t.Helper()
	moments := b.moments(kind)
	if len(moments) < number+2 {
		t.Fatalf("%d calls of %s, want %d", len(moments), kind, number+2)
	}
	return moments[number+1] - moments[number]
}

// retractsMany is timed with calls that take several names off the list.
type retractsMany struct {
	timed

	sizes []int
}

func (b *retractsMany) retractMany(_ context.Context, waiters []listingKey) error {
	time.Sleep(time.Second)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.sizes = append(b.sizes, len(waiters))
	return nil
}

func (b *timed) start() {
	b.began, b.at, b.took = time.Now(), map[string][]time.Duration{}, map[string]time.Duration{}
}

// silence never answers.
func silence(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// fails says that there is no server.
func fails(context.Context) error {
	return fmt.Errorf("%w: connection refused", applock.ErrUnreachable)
}

func playTimed(t *testing.T, backend *timed, test func(t *testing.T, leases *Leases)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		backend.start()
		leases := New(backend, Config{})
		leases.waiters.random = func() float64 { return 0.5 } // no jitter
		defer func() { _ = leases.Close() }()
		test(t, leases)
	})
}

func requireTime(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// Goal: a get of a client that is under way when its wait ends has two seconds more. Method: one without an answer.
func TestTimeOfTheLastGet(t *testing.T) {
	t.Parallel()
	playTimed(t, &timed{}, func(t *testing.T, leases *Leases) {
		began := time.Now()
		err := (&clientLeases{Leases: leases}).Wait(t.Context(), nightly().Object, applock.Owner{Operator: "JDOE"}, time.Second, silence)
		if took := time.Since(began); took != 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %s, want the end of ctx after 3 s", err, took)
		}
	})
}

// Goal: a poll ends after 10 s, and one that has failed is followed by the next one after a second. Method: polls without an answer, and polls
// that fail at once.
func TestTimesOfPolls(t *testing.T) {
	t.Parallel()
	backend := &timed{poll: silence}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(20*time.Second))
		synctest.Wait()
		requireTime(t, "a silent poll", backend.took["poll"], 10*time.Second)
	})
	backend = &timed{poll: fails}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(20*time.Second))
		requireTime(t, "the pause after a failure", backend.gap(t, "poll", 10), time.Second)
	})
}

// Goal: polls leave the backend 24 parts of 25 of the time, beyond a millisecond. With messages they are rare: after half of the quiet
// time, from 20 ms to 5 s; without messages after a thousandth of it. Method: pauses after polls.
func TestTimesBetweenPolls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hearing           int
		quiet, cost, want time.Duration
	}{
		"cheap":          {cost: 200 * time.Microsecond, want: 5 * time.Millisecond},
		"dear":           {cost: 11 * time.Millisecond, want: 250 * time.Millisecond},
		"very dear":      {cost: time.Minute, want: time.Second},
		"quiet":          {quiet: 100 * time.Second, want: 100 * time.Millisecond},
		"messages":       {hearing: 1, want: 20 * time.Millisecond},
		"a second quiet": {hearing: 1, quiet: time.Second, want: 500 * time.Millisecond},
		"an hour quiet":  {hearing: 1, quiet: time.Hour, want: 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			hub := newHub(nil)
			hub.random = func() float64 { return 0.5 }
			hub.objects[nightly().Object], hub.changed, hub.hearing = 1, time.Now().Add(-c.quiet), c.hearing
			requireTime(t, name, hub.pause(c.cost, forever, nil).Round(time.Microsecond), c.want)
		})
	}
}

// Goal: those who come shortly after each other are gathered for a common poll, for four times as long as it takes. Method: polls of 10 ms,
// which come every 235 ms, and a waiter that comes when one has ended.
func TestTimeOfGathering(t *testing.T) {
	t.Parallel()
	backend := &timed{poll: func(context.Context) error {
		time.Sleep(10 * time.Millisecond)
		return nil
	}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		go func() { _, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Minute)) }()
		time.Sleep(2 * time.Second)
		for polls := len(backend.moments("poll")); len(backend.moments("poll")) == polls; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
		came := time.Since(backend.began)
		second := nightlyWithin(time.Minute)
		second.Object.ID = "second"
		go func() { _, _ = leases.TryAcquire(t.Context(), second) }()
		time.Sleep(100 * time.Millisecond)
		moments := backend.moments("poll")
		requireTime(t, "the next poll", moments[len(moments)-1]-came, 40*time.Millisecond)
		time.Sleep(time.Hour)
	})
}

// Goal: without waiters the listener stays for 10 s, and one that cannot begin is tried again after 10 s. Method: a waiter that leaves after
// a second, and listeners that fail.
func TestTimesOfListeners(t *testing.T) {
	t.Parallel()
	var closed time.Duration
	backend := &timed{}
	backend.listen = func(ctx context.Context) (Listener, error) {
		context.AfterFunc(ctx, func() { closed = time.Since(backend.began) })
		return played{closing: make(chan struct{})}, nil
	}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Second))
		time.Sleep(time.Minute)
		synctest.Wait()
		if closed < 10*time.Second || closed > 14*time.Second {
			t.Errorf("the listener ended after %s, want some 10 s after the waiter", closed)
		}
	})
	backend = &timed{listen: func(context.Context) (Listener, error) { return nil, errors.New("connection refused") }}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Minute))
		requireTime(t, "the pause after a failure", backend.gap(t, "listen", 2), 10*time.Second)
	})
}

// Goal: a message makes a lease be verified that began more than a second before. Method: messages after 0.9 s and after 1.1 s.
func TestAgeOfMessages(t *testing.T) {
	t.Parallel()
	backend := &timed{playedOffers: playedOffers{free: true}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		if _, err := leases.Acquire(t.Context(), nightly()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{0, 1} {
			time.Sleep(900*time.Millisecond - time.Duration(want)*700*time.Millisecond)
			leases.told(Message{Object: nightly().Object}, 0)
			synctest.Wait()
			if n := len(backend.moments("renew")); n != want {
				t.Errorf("verified %d times after %s, want %d", n, time.Since(backend.began), want)
			}
		}
	})
}

// Goal: pauses differ by a fifth at most, so that programs do not ask at the same time. Method: the least and the greatest chance.
func TestJitter(t *testing.T) {
	t.Parallel()
	leases := New(&timed{}, Config{})
	defer func() { _ = leases.Close() }()
	for random, want := range map[float64]time.Duration{0: 8 * time.Second, 1: 12 * time.Second} {
		leases.waiters.random = func() float64 { return random }
		requireTime(t, "a pause of 10 s", leases.waiters.about(10*time.Second).Round(time.Millisecond), want)
	}
}

// Goal: a call of the list ends after 10 s, one that has failed is repeated after a second, and eight are under way at most. Method: a
// retraction that has no answer, one that fails, and twenty waiters whose announcements take a second.
func TestTimesOfTheList(t *testing.T) {
	t.Parallel()
	backend := &timed{retract: silence}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Second))
		time.Sleep(time.Minute)
		synctest.Wait()
		requireTime(t, "a silent call", backend.took["retract"], 10*time.Second)
		requireTime(t, "the pause after it", backend.gap(t, "retract", 0), 11*time.Second)
	})
	backend = &timed{announce: func(context.Context) error {
		time.Sleep(time.Second)
		return nil
	}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		for i := range 20 {
			request := nightlyWithin(time.Minute)
			request.Object.ID = fmt.Sprint(i)
			go func() { _, _ = leases.TryAcquire(t.Context(), request) }()
		}
		time.Sleep(501500 * time.Microsecond) // not when a poll comes
		synctest.Wait()
		if n := backend.underWay(); n != 8 {
			t.Errorf("%d announcements at the same time, want 8", n)
		}
		time.Sleep(time.Hour)
	})
}

// Goal: one call takes a hundred names off the list at most. Method: 250 waiters that leave together, and calls that
// take a second.
func TestNamesOfARetraction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &retractsMany{}
		backend.start()
		leases := New(backend, Config{})
		defer func() { _ = leases.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 250 {
			request := nightly()
			request.Object.ID = fmt.Sprint(i)
			go func() { _, _ = leases.Acquire(ctx, request) }()
		}
		time.Sleep(time.Second)
		cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		if most := slices.Max(backend.sizes); most != 100 {
			t.Errorf("%d names by one call, want 100 at most: %v", most, backend.sizes)
		}
	})
}

// unwatched is timed without polls and messages.
type unwatched struct{ Backend }

// Goal: a waiter that nothing wakes looks after five minutes. Method: a backend that cannot be polled, and an object that stays held.
func TestTheLastLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &timed{}
		backend.start()
		leases := New(unwatched{backend}, Config{})
		defer func() { _ = leases.Close() }()
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Hour))
		requireTime(t, "the pause between looks", backend.gap(t, "get", 5), 5*time.Minute)
	})
}

// Goal: an attempt without a result is repeated after 40 ms, and ever more rarely, up to some two seconds. Method: an object that others are
// changing for a minute.
func TestTimesOfAttempts(t *testing.T) {
	t.Parallel()
	backend := &timed{get: func(context.Context) error { return applock.ErrBusy }}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Minute))
		requireTime(t, "the first pause", backend.gap(t, "get", 0), 40*time.Millisecond)
		requireTime(t, "the tenth pause", backend.gap(t, "get", 9), 2020*time.Millisecond)
	})
}

// Goal: a waiter behind a holder of its own program is listed after 50 ms, and the ones behind it after a second. Method: three of them.
func TestTimesUntilListed(t *testing.T) {
	t.Parallel()
	backend := &timed{playedOffers: playedOffers{free: true}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		if _, err := leases.Acquire(t.Context(), nightly()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			go func() { _, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Minute)) }()
			time.Sleep(60 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		want := []time.Duration{50 * time.Millisecond, 1060 * time.Millisecond}
		if moments := backend.moments("announce"); !slices.Equal(moments, want) {
			t.Errorf("listed after %v, want %v", moments, want)
		}
		time.Sleep(time.Hour)
	})
}

// Goal: a release that has failed is repeated after 10 ms at first. Method: a backend that cannot be reached.
func TestTimesOfReleases(t *testing.T) {
	t.Parallel()
	backend := &timed{playedOffers: playedOffers{free: true}, release: fails}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		lease, err := leases.Acquire(t.Context(), nightly())
		if err != nil {
			t.Fatal(err)
		}
		_ = lease.Release(t.Context())
		requireTime(t, "the first pause", backend.gap(t, "release", 0), 10*time.Millisecond)
	})
}

// Goal: a name tells the host, shortened, and has enough chance to be nobody else's. Method: a long name of a host.
func TestPartsOfAUniqueName(t *testing.T) {
	t.Parallel()
	parts := strings.Split(nameOn(strings.Repeat("host", 20)), "/")
	if len(parts) != 3 || len(parts[0]) != 24 || len(parts[2]) != 16 {
		t.Errorf("%v, want 24 letters of the host, the process, and 16 random ones", parts)
	}
}

// Goal: the first attempt of a wait has a second more than the wait. Method: a get without an answer.
func TestTimeOfTheFirstAttempt(t *testing.T) {
	t.Parallel()
	backend := &timed{get: silence}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		_, _ = leases.TryAcquire(t.Context(), nightlyWithin(time.Second))
		requireTime(t, "the wait", time.Since(backend.began), 2*time.Second)
	})
}

// Goal: a take without an answer is released again 1, 5 and 15 s later, at full seconds, and four releases are under way at most. Method: a take,
// one that comes 300 ms later, and ten whose releases take a second.
func TestTimesOfLateTakes(t *testing.T) {
	t.Parallel()
	late := func(leases *Leases) {
		leases.late.add(applock.Grant{Object: nightly().Object, Owner: applock.Owner{Operator: uniqueName()}})
	}
	backend := &timed{}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		late(leases)
		time.Sleep(300 * time.Millisecond)
		late(leases)
		time.Sleep(time.Minute)
		want := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 6 * time.Second, 15 * time.Second, 16 * time.Second}
		if moments := backend.moments("release"); !slices.Equal(moments, want) {
			t.Errorf("released after %v, want %v", moments, want)
		}
	})
	backend = &timed{release: func(context.Context) error {
		time.Sleep(time.Second)
		return nil
	}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		for range 10 {
			late(leases)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if backend.most != 4 {
			t.Errorf("%d releases at the same time, want 4", backend.most)
		}
	})
}

// passes is timed with passes that have no answer.
type passes struct{ timed }

func (b *passes) Pass(ctx context.Context, _ applock.Grant, _ applock.Owner, _ time.Duration) (applock.Grant, error) {
	return applock.Grant{}, b.note(ctx, "pass", func(ctx context.Context) error { return fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, silence(ctx)) })
}

// Goal: a pass has half the time of a release. Method: one without an answer.
func TestTimeOfAPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &passes{timed{playedOffers: playedOffers{free: true}}}
		backend.start()
		leases := New(backend, Config{})
		defer func() { _ = leases.Close() }()
		lease, err := leases.Acquire(t.Context(), nightly())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = leases.Acquire(t.Context(), nightly()) }()
		time.Sleep(time.Millisecond)
		_ = lease.Release(t.Context())
		synctest.Wait()
		requireTime(t, "a silent pass", backend.took["pass"], 2500*time.Millisecond)
	})
}

// Goal: the clocks are compared once a second, and a sleep is one from 100 ms on. Method: a machine that sleeps for an hour soon after a lease
// was taken; and short sleeps.
func TestTimesOfClocks(t *testing.T) {
	t.Parallel()
	backend := &timed{playedOffers: playedOffers{free: true}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		var asleep atomic.Int64
		leases.sleepBy(func() time.Duration { return time.Duration(asleep.Load()) })
		lease, err := leases.Acquire(t.Context(), nightly())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		asleep.Store(int64(time.Hour))
		<-lease.Context().Done()
		requireTime(t, "the next look", time.Since(backend.began), time.Second)
		asleep.Store(int64(100 * time.Millisecond))
		requireTime(t, "a gap of the clocks", leases.slept(), 0)
		asleep.Store(int64(101 * time.Millisecond))
		requireTime(t, "a sleep", leases.slept(), 101*time.Millisecond)
	})
}

// Goal: a lease is renewed every third of its TTL, an attempt has a ninth of the TTL, or twice the time of the last one, the third attempt a third of
// the TTL, and the next attempt comes a second later at the most. Method: a lease with a TTL of 90 s.
func TestTimesOfRenewals(t *testing.T) {
	t.Parallel()
	held := &hold{ttl: 90 * time.Second, pace: &pace{}}
	held.interval = (&Leases{}).intervalOf(held)
	requireTime(t, "between renewals", held.interval, 30*time.Second)
	requireTime(t, "between attempts", held.retryPause(), time.Second)
	for tries, want := range []time.Duration{10 * time.Second, 10 * time.Second, 30 * time.Second} {
		held.tries = tries
		requireTime(t, fmt.Sprintf("attempt %d", tries), held.attemptLimit(), want)
	}
	held.tries, held.pace.took = 0, 6*time.Second
	requireTime(t, "an attempt after a slow one", held.attemptLimit(), 12*time.Second)
}

// Goal: the first renewals of leases of one moment are spread over eight moments, of which two neighbours go together; one call is for 500 grants
// at first, and two are under way at most; after calls without an answer the next ones wait for an eighth of their time. Method: eight leases; and
// 2,000 that are due, with calls that take a second, or for ever.
func TestTimesOfManyRenewals(t *testing.T) {
	t.Parallel()
	take := func(t *testing.T, leases *Leases, number int) {
		t.Helper()
		for i := range number {
			request := applock.AcquireRequest{Object: applock.Object{Type: "job", ID: fmt.Sprint(i)}, MaxHold: time.Hour, TTL: 24 * time.Second}
			if _, err := leases.Acquire(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
	}
	backend := &timed{playedOffers: playedOffers{free: true}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		take(t, leases, 8)
		time.Sleep(8500 * time.Millisecond)
		want := []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 7 * time.Second}
		if moments := backend.moments("renew"); !slices.Equal(moments, want) {
			t.Errorf("renewed after %v, want %v", moments, want)
		}
	})
	backend = &timed{playedOffers: playedOffers{free: true}, renew: func(context.Context) error {
		time.Sleep(time.Second)
		return nil
	}}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		take(t, leases, 2000)
		leases.mutex.Lock()
		leases.hurry()
		leases.mutex.Unlock()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if want := []int{500, 500, 500, 500}; !slices.Equal(backend.renewals, want) || backend.most != 2 {
			t.Errorf("calls of %v grants after 1.5 s, %d at the same time, want %v and 2", backend.renewals, backend.most, want)
		}
		time.Sleep(2 * time.Second)
	})
	backend = &timed{playedOffers: playedOffers{free: true}, renew: silence}
	playTimed(t, backend, func(t *testing.T, leases *Leases) {
		take(t, leases, 2000)
		leases.mutex.Lock()
		leases.hurry()
		leases.mutex.Unlock()
		time.Sleep(4 * time.Second)
		const limit = 8 * time.Second / 3
		requireTime(t, "from two calls without an answer to the next one", backend.gap(t, "renew", 1), limit+limit/8)
	})
}

// Goal: rows of turns, and the pauses after them, last as long as package lease says. Method: the moments before and after.
func TestTimesOfTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others []string // who was seen to hold the object before the row
		lasts  time.Duration
	}{
		"alone":       {lasts: 2 * time.Second},
		"with others": {others: []string{"host/1/a"}, lasts: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				row := turns{}
				for _, other := range c.others {
					row.refused(other)
				}
				row.taken(1)
				row.taken(1)
				if time.Sleep(c.lasts - 1); row.isOver() {
					t.Errorf("over before %s", c.lasts)
				}
				if time.Sleep(time.Nanosecond); !row.isOver() {
					t.Errorf("goes on after %s", c.lasts)
				}
			})
		})
	}
}

// Goal: a program that has just had its row among several leaves the object to them for 200 ms longer, and remembers them for a minute; and a
// gap of 100 ms ends a row that nobody goes on with. Method: turns without Leases.
func TestTimesBetweenRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		row := turns{}
		row.taken(1)
		time.Sleep(time.Second)
		row.refused("host/1/a")
		row.refused("host/2/b")
		requireTime(t, "the delay after a row", row.delay(), 200*time.Millisecond)
		row.taken(1)
		time.Sleep(time.Minute - 1)
		if row.refused("host/2/c"); row.delay() == 0 {
			t.Error("no delay before a minute is over")
		}
		if time.Sleep(time.Nanosecond); row.delay() != 0 {
			t.Error("a delay after a minute")
		}
		row.last = time.Now()
		if time.Sleep(100*time.Millisecond - 1); row.isPast() {
			t.Error("past before 100 ms")
		}
		if time.Sleep(time.Nanosecond); !row.isPast() {
			t.Error("not past after 100 ms")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		backend := &timed{playedOffers: playedOffers{free: true}}
		backend.start()
		leases := New(backend, Config{})
		defer func() { _ = leases.Close() }()
		state := leases.state(nightly().Object)
		state.turns = turns{began: time.Now(), handed: 1, quota: 1}
		time.Sleep(2 * time.Second)
		leases.mutex.Lock()
		isOthers := leases.isFreeForOthers(state)
		leases.mutex.Unlock()
		if left := time.Until(state.turns.pause); !isOthers || left != 50*time.Millisecond {
			t.Errorf("left to others: %t, for %s, want 50 ms", isOthers, left)
		}
		time.Sleep(time.Until(state.turns.pause))
	})
}
