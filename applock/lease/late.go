package lease

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
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

	mutex   sync.Mutex
	takes   []lateTake
	running bool
}

// lateTake is one object of a late call.
type lateTake struct {
	grant applock.Grant // object and owner, and a fence if it is known
	// due is the time of the next release, and answered counts the answered releases.
	due      time.Time
	answered int
	// isUncertain is true if the former release had no answer. It may have ended the grant.
	isUncertain bool
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
	l.takes = append(l.takes, lateTake{grant: grant, due: time.Now().Add(latePauses()[0])})
	if !l.running {
		l.running = true
		l.leases.background.Go(l.run)
	}
}

// run works until nothing is left to release. When Close begins, it releases all for the last time.
func (l *lateTakes) run() {
	ticker := time.NewTicker(lateTick)
	defer ticker.Stop()
	for !l.isDone() {
		select {
		case <-ticker.C:
			now := time.Now()
			l.release(l.take(func(take lateTake) bool { return !take.due.After(now) }))
		case <-l.leases.stopped.Done():
			l.releaseAtClose()
			return
		}
	}
}

func (l *lateTakes) isDone() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running = len(l.takes) > 0
	return !l.running
}

// take removes the wanted ones from the list and returns them.
func (l *lateTakes) take(isWanted func(take lateTake) bool) (wanted []lateTake) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var others []lateTake
	for _, take := range l.takes {
		if isWanted(take) {
			wanted = append(wanted, take)
		} else {
			others = append(others, take)
		}
	}
	l.takes = others
	return wanted
}

// release releases some takes, a few at a time. It stops at the first failure, so that an outage does not cost a call for each. The rest
// wait for the next tick.
func (l *lateTakes) release(due []lateTake) {
	for i := 0; i < len(due); i += lateCalls {
		if !l.releaseSome(due[i:min(i+lateCalls, len(due))]) {
			l.putBack(due[min(i+lateCalls, len(due)):]...)
			return
		}
	}
}

// releaseAtClose releases all until each release has an answer or Close stops waiting.
func (l *lateTakes) releaseAtClose() {
	closing := l.leases.shutdownCtx
	for pause := firstRetry; closing.Err() == nil; pause = min(2*pause, lateTick) {
		for some := range slices.Chunk(l.take(func(lateTake) bool { return true }), lateCalls) {
			l.releaseSome(some)
		}
		if l.isDone() {
			return
		}
		select {
		case <-closing.Done():
		case <-time.After(pause):
		}
	}
}

// releaseSome releases a few at the same time, and reports whether each had an answer.
func (l *lateTakes) releaseSome(some []lateTake) bool {
	var group sync.WaitGroup
	var failures atomic.Int32
	for _, take := range some {
		group.Go(func() {
			if err := l.releaseOne(take); err != nil {
				failures.Add(1)
			}
		})
	}
	group.Wait()
	return failures.Load() == 0
}

// releaseOne releases a take, and keeps it in the list unless this was the last time. It returns why there was no answer. A refusal that no
// repetition changes is an answer. It wakes the first waiter if this release, or one without an answer before it, may have freed the object.
func (l *lateTakes) releaseOne(take lateTake) error {
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
	switch isLast := take.answered == len(pauses) || isAnswered && l.leases.stopped.Err() != nil; {
	case !isLast:
		take.due = time.Now().Add(pauses[take.answered])
		l.putBack(take)
	case !isEnded:
		l.leases.warnNotReleased(take.grant, err)
	}
	if isAnswered || isBusy(err) {
		return nil
	}
	return err
}

func (l *lateTakes) putBack(takes ...lateTake) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.takes = append(l.takes, takes...)
}
