package weblock

import (
	"sync"
	"time"
)

const (
	// A person may send burst requests at once, and perSecond for long: some 70 open pages.
	burst     = 60
	perSecond = 5
	// personsKept bounds the memory.
	personsKept = 10000
)

// limiter counts what each person may still send.
type limiter struct {
	mutex   sync.Mutex
	persons map[string]allowance
}

type allowance struct {
	left float64
	at   time.Time
}

func newLimiter() *limiter { return &limiter{persons: map[string]allowance{}} }

func (l *limiter) allows(person string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := time.Now()
	of, known := l.persons[person]
	if !known {
		l.makeRoom(now)
		of = allowance{left: burst, at: now}
	}
	of.left = min(burst, of.left+now.Sub(of.at).Seconds()*perSecond)
	of.at = now
	allowed := of.left >= 1
	if allowed {
		of.left--
	}
	l.persons[person] = of
	return allowed
}

// makeRoom forgets persons who may send a whole burst again. Names come from the sign-in, so nobody can make them up.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.persons) < personsKept {
		return
	}
	for person, of := range l.persons {
		if of.left+now.Sub(of.at).Seconds()*perSecond >= burst {
			delete(l.persons, person)
		}
	}
}
