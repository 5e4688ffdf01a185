package lease

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// lateTick is how often late takes are checked for the next release.
	lateTick = time.Second
	// lateCalls is how many are released at a time: few, because the callers' own calls come first.
	lateCalls = 4
	// mostLateTakes limits the memory after an outage, at some 300 bytes each.
	mostLateTakes = 50_000
)

// latePauses are the pauses before each further release of a take without an answer: 1, 5 and 15 s after the first one.
func latePauses() []time.Duration {
	return []time.Duration{time.Second, 4 * time.Second, 10 * time.Second}
}

// lateTakes are calls without an answer, which may still arrive. A call that arrives after its release takes the object for nobody. So the
// release is repeated, whatever it found before. It cannot end another grant, since nobody else has the operator. The list also has grants
// whose callers gave up and whose release failed. One goroutine works on it while it is not empty.
type lateTakes struct {
	leases *Leases

	mutex sync.Mutex
	takes []*lateTake
}

// lateTake is one object of a late call. Apart from its grant, only the goroutine that works on the list reaches it.
type lateTake struct {
	grant applock.Grant // object and owner, and a fence if it is known
	// due is the time of the next release, and answered counts the answered releases.
	due      time.Time
	answered int
	// isUncertain is true if the former release had no answer: it may have ended the grant. isDone is true after the last release.
	isUncertain, isDone bool
}

// add schedules more releases of a take that was just released.
func (l *lateTakes) add(grant applock.Grant) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.takes) == mostLateTakes {
		l.leases.logger.Warn("too many calls without an answer: this object may stay locked until its lock expires",
			slog.String("object", l.takes[0].grant.Object.String()))
		l.takes = l.takes[1:]
	}
	l.takes = append(l.takes, &lateTake{grant: grant, due: time.Now().Add(latePauses()[0])})
	if len(l.takes) == 1 {
		l.leases.background.Go(l.run)
	}
}

// run works until nothing is left to release. When Close begins, it releases all for the last time, until each release has an answer or Close
// stops waiting. Before that it stops at the first failure until the next tick, so that an outage does not cost a call for each.
func (l *lateTakes) run() {
	pause, stopped := lateTick, l.leases.stopped.Done()
	for {
		select {
		case <-l.leases.shutdownCtx.Done():
			return
		case <-stopped:
			pause, stopped = firstRetry, nil
		case <-time.After(pause):
			pause = min(2*pause, lateTick)
		}
		for some := range slices.Chunk(l.due(stopped == nil), lateCalls) {
			if !l.release(some) && stopped != nil {
				break
			}
		}
		if l.isEmpty() {
			return
		}
	}
}

// due returns the takes that are to be released now, those first that have been due for longest.
func (l *lateTakes) due(all bool) (due []*lateTake) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, take := range l.takes {
		if all || !take.due.After(time.Now()) {
			due = append(due, take)
		}
	}
	slices.SortFunc(due, func(a, b *lateTake) int { return a.due.Compare(b.due) })
	return due
}

// isEmpty drops what has been released for the last time, and reports whether that was all.
func (l *lateTakes) isEmpty() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.takes = slices.DeleteFunc(l.takes, func(take *lateTake) bool { return take.isDone })
	return len(l.takes) == 0
}

// release releases a few at the same time, and reports whether each had an answer.
func (l *lateTakes) release(some []*lateTake) bool {
	answered := make([]bool, len(some))
	var group sync.WaitGroup
	for i, take := range some {
		group.Go(func() { answered[i] = l.releaseOne(take) })
	}
	group.Wait()
	return !slices.Contains(answered, false)
}

// releaseOne releases a take, and reports whether there was an answer. A refusal that no repetition changes is an answer. It wakes the first
// waiter if this release, or one without an answer before it, may have freed the object.
func (l *lateTakes) releaseOne(take *lateTake) bool {
	err := l.leases.releaseOnce(l.leases.shutdownCtx, take.grant)
	isEnded := err == nil || isGone(err)
	if err == nil || isEnded && take.isUncertain {
		l.leases.queue.offer(take.grant.Object, Unranked, time.Now())
	}
	take.isUncertain = !isEnded
	isAnswered := isEnded || isRefused(err) || errors.Is(err, applock.ErrInvalid)
	if isAnswered {
		take.answered++
	}
	pauses := latePauses()
	switch take.isDone = take.answered == len(pauses) || isAnswered && l.leases.stopped.Err() != nil; {
	case !take.isDone:
		take.due = time.Now().Add(pauses[take.answered])
	case !isEnded:
		l.leases.warnNotReleased(take.grant, err)
	}
	return isAnswered || isBusy(err)
}
