package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

const (
	// schedulesVariable names the seeds to run instead of the usual ones, as one number or as FROM:TO.
	schedulesVariable = "APPLOCK_SCHEDULES"

	// calm is how long a schedule goes on without faults when all actors have come to their end: long enough for each
	// release and retraction to be repeated.
	calm = time.Minute
	// shortestHold is the shortest MaxHold that is allowed.
	shortestHold = 100 * time.Millisecond
	// allGone is after what time nothing is held that nobody holds, and longestStray how late a call arrives at the most: before the last
	// release of what it may have taken.
	allGone      = 20 * time.Second
	longestStray = 14 * time.Second
	// longestHold is the longest MaxHold of an actor.
	longestHold = 5 * time.Minute
	// mostCalls is some three times what the busiest of 6,000 schedules took.
	mostCalls = 2000
)

// Goal: whatever a few programs do at a time, and whatever happens to their calls, the leases keep their promises:
//   - when a grant begins, no lease on a former one is trusted any more;
//   - a lease is trusted no longer than the backend keeps its grant, and ends by MaxHold;
//   - a lease whose grant a supervisor has ended is trusted no longer than its ttl from then on: no answer renews it;
//   - it ends with a cause that is ErrNotHeld, and is ErrLost with a *LostError when it was lost;
//   - those who wait in one program are served in the order of their calls;
//   - each caller gets its lease, or is told why not; nobody waits for an object that stays free, and nobody is told that
//     it is held;
//   - nobody besieges the backend: a schedule takes a few hundred calls at most to acquire and release;
//   - 20 s after the last one nothing is held, also where a call that takes has arrived after its release, and in the end nobody is listed
//     as waiting, and no goroutine is left.
//
// Method: random schedules in virtual time, thousands of them, each made from its seed: several actors in one to three
// programs on a few objects, cancelled at any moment, over a backend that is slow, loses, doubles and refuses answers,
// has calls arrive after all of which nothing was known, and fails for a while. The name of a failing test has its seed. APPLOCK_SCHEDULES=1234 runs that one alone, and
// APPLOCK_SCHEDULES=0:100000 that many. A seed repeats all times and decisions; what happens in the same nanosecond is ordered
// by the scheduler of Go.
func TestSchedules(t *testing.T) {
	t.Parallel()
	runSchedules(t, schedules(t))
}

// Goal and method: those of TestSchedules, with ten times as many schedules and without the race detector.
func TestHeavySchedules(t *testing.T) {
	t.Parallel()
	runSchedules(t, from(usualSchedules, 10*usualSchedules))
}

func runSchedules(t *testing.T, seeds []uint64) {
	t.Helper()
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newSchedule(t, seed).run() })
		})
	}
}

// usualSchedules is how many schedules run without APPLOCK_SCHEDULES.
const usualSchedules = 200

func schedules(t *testing.T) []uint64 {
	t.Helper()
	text := os.Getenv(schedulesVariable)
	if text == "" {
		return append(from(0, usualSchedules), onceFailed()...)
	}
	first, end := schedulesNamed(t, text)
	return from(first, end)
}

// onceFailed are seeds above the usual ones that have found a mistake, here or in the simulation.
func onceFailed() []uint64 {
	return []uint64{
		1001666, 1025084, 1025546, 1033569, 1055039, 1109341, 1109390, 1123053, 1147240, 1165851, 1193550, 2009526, 2034354, 3046021, 6018054,
		10017438, 10027642, 10032321, 10542492, 20183810, 30025700,
	}
}

func from(first, end uint64) []uint64 {
	var seeds []uint64
	for seed := first; seed < end; seed++ {
		seeds = append(seeds, seed)
	}
	return seeds
}

func schedulesNamed(t *testing.T, text string) (first, end uint64) {
	t.Helper()
	lowest, to, isRange := strings.Cut(text, ":")
	first, err := strconv.ParseUint(lowest, 10, 64)
	if err == nil && isRange {
		end, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil {
		t.Fatalf("%s is %q, want a seed or FROM:TO", schedulesVariable, text)
	}
	return first, max(end, first+1)
}

// chance is a source of random decisions.
type chance struct{ *rand.Rand }

func newChance(seed uint64, name string) chance {
	stream := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		stream = (stream ^ uint64(b)) * 1099511628211
	}
	return chance{rand.New(rand.NewPCG(seed, stream))}
}

// hits returns true in that percentage of calls.
func (c chance) hits(percent int) bool { return c.IntN(100) < percent }

// upTo returns a time of at least a nanosecond.
func (c chance) upTo(most time.Duration) time.Duration {
	return 1 + time.Duration(c.Int64N(int64(most)))
}

func oneOf[T any](c chance, choices ...T) T { return choices[c.IntN(len(choices))] }

// weather is what happens to calls in a schedule.
type weather struct {
	latency                                       time.Duration
	losing, doubling, refusing, passing, lateness int // percent of the calls
	late                                          time.Duration
	// straying is how many calls in a hundred arrive after their callers have been told that nothing is known of them, strayFor how much
	// later at the most.
	straying     int
	strayFor     time.Duration
	deaf, ghosts bool
	outages      []span
	// losses is true where a supervisor ends grants.
	losses bool
	// restarts and steps are when the server is restarted, and its clock is set.
	restarts []time.Duration
	steps    []step
}

type step struct{ at, by time.Duration }

type span struct{ from, to time.Duration } // since the beginning

func newWeather(c chance) weather {
	w := weather{latency: oneOf(c, 0, 2*time.Millisecond, 100*time.Millisecond, time.Second), deaf: c.hits(20), ghosts: c.hits(40), losses: c.hits(25)}
	if c.hits(60) {
		w.losing, w.doubling, w.refusing, w.passing = c.IntN(15), c.IntN(15), c.IntN(15), c.IntN(15)
	}
	if c.hits(20) {
		w.lateness, w.late = c.IntN(10), c.upTo(15*time.Second)
	}
	if c.hits(30) {
		from := c.upTo(30 * time.Second)
		w.outages = append(w.outages, span{from, from + c.upTo(oneOf(c, 3*time.Second, 40*time.Second))})
	}
	return w
}

// withServer adds what happens to the server itself, by decisions of its own: those of a seed stay what they were.
func (w weather) withServer(c chance) weather {
	if c.hits(25) {
		for range 1 + c.IntN(3) {
			w.restarts = append(w.restarts, c.upTo(time.Minute))
		}
	}
	if c.hits(25) {
		for range 1 + c.IntN(3) {
			w.steps = append(w.steps, step{at: c.upTo(time.Minute), by: oneOf(c, time.Duration(-1), 1) * c.upTo(oneOf(c, time.Second, 20*time.Second, time.Hour))})
		}
	}
	return w
}

// withStrays adds calls that arrive late, by decisions of its own as well.
func (w weather) withStrays(c chance) weather {
	if c.hits(40) {
		w.straying, w.strayFor = 1+c.IntN(20), oneOf(c, 50*time.Millisecond, time.Second, 5*time.Second, longestStray)
	}
	return w
}

// setBack is by how much longer a grant may last than it was to.
func (w weather) setBack() time.Duration {
	var back time.Duration
	for _, step := range w.steps {
		back -= min(step.by, 0)
	}
	return back
}

// endsGrants reports whether a grant may end that nobody has released and whose time is not over.
func (w weather) endsGrants() bool { return w.losses || len(w.steps) > 0 }

// isHarsh reports whether a release may fail for longer than it is repeated.
func (w weather) isHarsh() bool {
	return w.lateness > 0 || len(w.outages) > 0 || w.latency > 500*time.Millisecond
}

// isFair reports whether no call fails, and none takes long.
func (w weather) isFair() bool {
	return !w.isHarsh() && w.losing+w.doubling+w.refusing+w.passing+w.straying+len(w.restarts) == 0 && !w.endsGrants()
}

var errOutage = errors.New("connection refused")

// actorPrefix is what the given operators begin with.
const actorPrefix = "actor-"

// schedule is one run.
type schedule struct {
	t       *testing.T
	seed    uint64
	weather weather
	backend *fakebackend.Backend
	leases  []*lease.Leases
	objects []applock.Object
	began   time.Time
	// canTransfer is true where the backend can, and latestLook is when those who wait look again at the latest.
	canTransfer bool
	latestLook  time.Duration

	mutex sync.Mutex
	calm  bool // the weather is over
	live  map[applock.Lease]struct{}
	waits []*scheduledWait
	// ended are the grants that a supervisor has ended, or that are transferred, and start is when each began.
	ended map[applock.Fence]bool
	start map[applock.Fence]time.Time
	// last are the last grants of the objects.
	last map[applock.Object]applock.Grant
	// seized is when a supervisor ended a grant.
	seized map[applock.Fence]time.Time
	// excused are given operators one of whose calls may have left a lock, for the next one to re-enter, and those who were
	// handed a lock by a transfer.
	excused map[string]bool
	// strayed are the operators of calls that arrived late, and closed is when a program was closed before the end.
	strayed map[string]bool
	closed  time.Time
	// letGo is when leases were released to the end, by their program and operator; zero until then.
	letGo map[ownHolder]time.Time
}

// ownHolder is who holds an object in a program.
type ownHolder struct {
	program  int
	operator string
}

// scheduledWait is one call that waits its turn.
type scheduledWait struct {
	program    int
	object     applock.Object
	start, end time.Time
	giveUp     time.Time // of the context or of MaxWait; zero for never
	served     bool
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	t.Helper()
	c := newChance(seed, "schedule")
	s := &schedule{
		t: t, seed: seed, weather: newWeather(c).withServer(newChance(seed, "server")).withStrays(newChance(seed, "strays")), backend: fakebackend.New(), began: time.Now(),
		live: map[applock.Lease]struct{}{}, ended: map[applock.Fence]bool{}, start: map[applock.Fence]time.Time{}, seized: map[applock.Fence]time.Time{}, excused: map[string]bool{},
		letGo: map[ownHolder]time.Time{}, strayed: map[string]bool{}, last: map[applock.Object]applock.Grant{},
	}
	for id := range 1 + c.IntN(3) {
		s.objects = append(s.objects, account(id))
	}
	s.backend.Fault = s.fault
	s.backend.Granted = s.granted
	messages := newChance(seed, "messages")
	s.backend.Messages = func() int { return oneOf(messages, 1, 1, 1, 0, 2) }
	programs := 1 + c.IntN(3)
	kind := oneOf(c, "plain", "polled", "everything", "everything")
	s.canTransfer = kind == "everything"
	s.latestLook = 30 * time.Second // in the worst weather
	for n := range programs {
		var backend lease.Backend = fakebackend.Program{Backend: s.backend, Name: fmt.Sprint(n)}
		switch {
		case kind == "plain" && programs == 1 && !s.weather.endsGrants():
			backend, s.latestLook = s.backend, 5*time.Minute // nobody polls
		case kind != "everything":
			backend = fakebackend.Polled{Backend: s.backend}
		}
		leases := lease.New(backend, lease.Config{CheckInterval: oneOf(c, 0, 0, 500*time.Millisecond)})
		leases.SetRandom(newChance(seed, fmt.Sprint("jitter", n)).Float64)
		if newChance(seed, fmt.Sprint("sets", n)).hits(50) {
			leases.ReleaseSetsBy(s.backend.ReleaseAll)
		}
		s.leases = append(s.leases, leases)
	}
	return s
}

// fault makes the weather. It depends on the seed, the call and the time only.
func (s *schedule) fault(_ context.Context, call fakebackend.Call) fakebackend.Fault {
	s.mutex.Lock()
	isCalm := s.calm
	s.mutex.Unlock()
	if isCalm {
		return fakebackend.Fault{}
	}
	since, w := time.Since(s.began), s.weather
	c := newChance(s.seed, fmt.Sprint(call.Operation, call.Object, since))
	fault := fakebackend.Fault{Deaf: w.deaf, Ghost: w.ghosts}
	if w.latency > 0 {
		fault.Before, fault.After = c.upTo(w.latency), c.upTo(w.latency)
	}
	for _, outage := range w.outages {
		if since >= outage.from && since < outage.to {
			fault.Refuse = oneOf(newChance(s.seed, "outage"), errOutage, applock.ErrUnreachable)
			return fault
		}
	}
	switch {
	case c.hits(w.refusing):
		fault.Refuse = oneOf(c, applock.ErrBusy, applock.ErrUnreachable, errOutage)
	case c.hits(w.losing):
		fault.Lose = true
	case c.hits(w.doubling):
		fault.Duplicate = true
	case c.hits(w.passing):
		fault.PassOver = true
	}
	if strays := newChance(s.seed, fmt.Sprint("stray", call.Operation, call.Object, since)); fault.Refuse == nil && strays.hits(w.straying) {
		fault.Stray = strays.upTo(w.strayFor)
		s.noteStray(call)
	}
	if c.hits(w.lateness) {
		*oneOf(c, &fault.Before, &fault.After) = c.upTo(w.late)
	}
	return fault
}

// noteStray notes by whose name something may be taken after all. A given operator may have that again, so that nobody releases it.
func (s *schedule) noteStray(call fakebackend.Call) {
	if call.Operation != fakebackend.Get && call.Operation != fakebackend.GetAll && call.Operation != fakebackend.Pass {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.strayed[call.Owner.Operator] = true
	if strings.HasPrefix(call.Owner.Operator, actorPrefix) {
		s.excused[call.Owner.Operator] = true
	}
}

// granted is called in the moment in which a grant begins: nobody may trust a former one.
func (s *schedule) granted(grant applock.Grant, sent time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if former := s.last[grant.Object]; former.Owner.Operator == grant.Owner.Operator && sent.Before(s.start[former.Fence]) {
		s.ended[former.Fence] = true // by an earlier call of the operator itself, which was given up, and arrives now
	}
	s.start[grant.Fence], s.last[grant.Object] = time.Now(), grant
	for lease := range s.live {
		if lease.Object() != grant.Object || s.ended[lease.Fence()] {
			continue
		}
		if left := time.Until(lease.Deadline()); lease.Context().Err() == nil && left > 0 {
			s.t.Errorf("%s: fence %d begins while a lease of fence %d is trusted for another %s",
				grant.Object, grant.Fence, lease.Fence(), left)
		}
	}
}

func (s *schedule) run() {
	c := newChance(s.seed, "run")
	ctx, cancel := context.WithCancel(context.Background())
	var supervisor, actors sync.WaitGroup
	if s.weather.losses {
		supervisor.Go(func() { s.supervise(ctx) })
	}
	for _, moment := range s.weather.restarts {
		supervisor.Go(func() { at(ctx, moment, s.backend.Restart) })
	}
	for _, step := range s.weather.steps {
		supervisor.Go(func() { at(ctx, step.at, func() { s.step(step.by) }) })
	}
	for n := range 2 + c.IntN(6) {
		a := &actor{schedule: s, chance: newChance(s.seed, fmt.Sprint("actor", n)), name: actorPrefix + strconv.Itoa(n), program: c.IntN(len(s.leases))}
		actors.Go(a.act)
	}
	for n := range s.crowd() {
		a := &actor{schedule: s, chance: newChance(s.seed, fmt.Sprint("crowd", n)), name: fmt.Sprint(actorPrefix, "crowd-", n), hurried: true}
		actors.Go(a.act)
	}
	if c.hits(15) { // a program ends while others are at it
		closing := s.leases[c.IntN(len(s.leases))]
		moment := c.upTo(time.Minute)
		actors.Go(func() {
			time.Sleep(moment)
			s.mutex.Lock()
			s.closed = time.Now()
			s.mutex.Unlock()
			s.close(closing)
		})
	}
	actors.Wait()
	cancel()
	supervisor.Wait()
	s.mutex.Lock()
	s.calm = true
	s.mutex.Unlock()
	s.checkNothingLeft()
	for _, leases := range s.leases {
		s.close(leases)
	}
	s.checkOrder()
	if n := s.backend.Calls(fakebackend.Get) + s.backend.Calls(fakebackend.GetAll) + s.backend.Calls(fakebackend.Release) + s.backend.Calls(fakebackend.Pass); n > mostCalls {
		s.t.Errorf("%d calls to acquire and release, want %d at most", n, mostCalls)
	}
}

// crowd returns how many more actors there are, all of one program, who want one object for a moment again and again: objects are passed on
// among them. It is by a decision of its own as well.
func (s *schedule) crowd() int {
	c := newChance(s.seed, "crowd")
	if !c.hits(40) {
		return 0
	}
	return 2 + c.IntN(5)
}

func (s *schedule) close(leases *lease.Leases) {
	began := time.Now()
	if err := leases.Close(); err != nil && !s.weather.isHarsh() && !s.mayFail(err) {
		s.t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second && !s.weather.deaf {
		s.t.Errorf("closed after %s, want 5 s at the most", took)
	}
}

// mayFail reports whether an error is one of those that the weather makes.
func (s *schedule) mayFail(err error) bool {
	return errors.Is(err, errOutage) || errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrOutcomeUnknown) ||
		errors.Is(err, applock.ErrUnreachable)
}

// supervise ends grants now and then.
func (s *schedule) supervise(ctx context.Context) {
	c := newChance(s.seed, "supervisor")
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.upTo(10 * time.Second)):
		}
		object := oneOf(c, s.objects...)
		grant, isHeld := s.backend.Holder(object)
		if !isHeld {
			continue
		}
		s.mutex.Lock()
		s.ended[grant.Fence] = true
		s.seized[grant.Fence] = time.Now()
		s.mutex.Unlock()
		s.backend.End(object)
	}
}

// at does something at a moment, unless ctx ends first.
func at(ctx context.Context, moment time.Duration, do func()) {
	select {
	case <-ctx.Done():
	case <-time.After(moment):
		do()
	}
}

// step sets the server's clock. Ahead, all grants that are live end sooner than their holders can know: only fences tell.
func (s *schedule) step(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if by > 0 {
		for _, grant := range s.backend.Held() {
			s.ended[grant.Fence] = true
		}
	}
	s.backend.Step(by)
}

// checkNothingLeft looks at the backend when all actors have released what they had.
func (s *schedule) checkNothingLeft() {
	time.Sleep(allGone)
	if !s.weather.isHarsh() {
		s.checkNothingHeld()
	}
	time.Sleep(calm - allGone)
	if n := s.backend.Waiting(); n > 0 && !s.weather.isHarsh() {
		s.t.Errorf("%d are listed as waiting in the end", n)
	}
	s.checkNoStrays()
	if s.weather.isHarsh() {
		time.Sleep(longestHold + s.weather.setBack())
	}
	s.checkNothingHeld()
}

func (s *schedule) checkNothingHeld() {
	for _, grant := range s.backend.Held() {
		if !s.excused[grant.Owner.Operator] && !s.isOfClosed(grant) {
			s.t.Errorf("%s is held by %s in the end", grant.Object, grant.Owner)
		}
	}
}

// checkNoStrays looks for what was taken by calls that arrived late. Their releases go on through an outage.
func (s *schedule) checkNoStrays() {
	for _, grant := range s.backend.Held() {
		if s.strayed[grant.Owner.Operator] && !s.excused[grant.Owner.Operator] && !s.isOfClosed(grant) {
			s.t.Errorf("%s is held by %s, whose call came late, in the end", grant.Object, grant.Owner)
		}
	}
}

// isOfClosed reports whether a call may have come so late that its program had been closed by then, or whether that was closed in an outage: nobody
// is left to release what it took.
func (s *schedule) isOfClosed(grant applock.Grant) bool {
	if s.closed.IsZero() || !s.strayed[grant.Owner.Operator] {
		return false
	}
	return s.weather.isHarsh() || s.start[grant.Fence].After(s.closed)
}

// checkOrder compares all pairs of waits on one object in one program.
func (s *schedule) checkOrder() {
	for _, later := range s.waits {
		for _, former := range s.waits {
			passedOver := later.served && former.program == later.program && former.object == later.object &&
				former.start.Before(later.start) && former.end.After(later.end)
			gaveUp := !former.giveUp.IsZero() && !former.giveUp.After(later.end)
			if passedOver && !gaveUp {
				s.t.Errorf("%s: who came at %s was served at %s, before who came at %s and waited until %s", later.object,
					later.start.Sub(s.began), later.end.Sub(s.began), former.start.Sub(s.began), former.end.Sub(s.began))
			}
		}
	}
}
