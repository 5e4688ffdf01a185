package console

import (
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: what is kept of failures has an end, and made-up names do not end somebody's wait. Method: a name that waits, and more of them
// than are kept.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		address := netip.MustParseAddr("10.0.0.1")
		for range failuresAllowed + 5 {
			l.attempt(address, "mlee", false)
			time.Sleep(waitAfter(failuresAllowed + 4))
		}
		l.attempt(address, "mlee", false)
		for i := range 2 * failuresKept {
			l.attempt(address, strconv.Itoa(i), false)
		}
		if len(l.failures) > failuresKept || l.attempt(address, "mlee", true) == 0 {
			t.Errorf("%d are kept, or the wait is forgotten", len(l.failures))
		}
		time.Sleep(longestWait + forgottenAfter + 1)
		if l.attempt(address, "mlee", false); l.attempt(address, "mlee", true) != 0 {
			t.Error("nothing is ever forgotten")
		}
	})
}

// Goal: who tries many passwords at once gets no more of them than one after the other. Method: attempts at once, and how many count.
func TestAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	now := time.Now()
	l.now = func() time.Time { return now }
	var all sync.WaitGroup
	var mutex sync.Mutex
	counted := 0
	for range 100 {
		all.Go(func() {
			if l.attempt(netip.MustParseAddr("10.0.0.1"), "mlee", false) == 0 {
				mutex.Lock()
				defer mutex.Unlock()
				counted++
			}
		})
	}
	all.Wait()
	if counted != failuresAllowed+1 {
		t.Errorf("%d of 100 attempts count", counted)
	}
}
