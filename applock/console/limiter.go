package console

import (
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// failuresAllowed may be made without a wait. From then on each failure has a wait behind it: a second, then twice as long each time,
	// up to longestWait.
	failuresAllowed = 5
	longestWait     = 15 * time.Minute
	// forgottenAfter is how long after the last wait failures count.
	forgottenAfter = time.Hour
	// failuresKept bounds how many names at how many addresses are kept.
	failuresKept = 10000
)

// limiter has those wait who fail again and again, by name and address. Not by address alone: an office has one, and so has all that
// comes through a proxy, and one person's typing errors would keep all others out. Not by name alone: anybody could keep the person out
// from everywhere.
type limiter struct {
	now  func() time.Time
	seed maphash.Seed

	mutex    sync.Mutex
	failures map[uint64]failures
}

// failures are those of one name at one address.
type failures struct {
	count int
	// until is when the wait ends, or when the failure was.
	until time.Time
}

func newLimiter() *limiter {
	return &limiter{now: time.Now, seed: maphash.MakeSeed(), failures: map[uint64]failures{}}
}

// attempt is that of somebody by a name, which is right or not. It returns how long that name waits at that address, whatever it has
// tried; zero where the attempt counts. Of many attempts at once each counts.
func (l *limiter) attempt(address netip.Addr, name string, right bool) (wait time.Duration) {
	key := maphash.Comparable(l.seed, struct {
		network netip.Prefix
		name    string
	}{networkOf(address), name})
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now()
	known, found := l.failures[key]
	if wait := known.until.Sub(now); wait > 0 {
		return wait
	}
	if right {
		delete(l.failures, key)
		return 0
	}
	if now.Sub(known.until) > forgottenAfter {
		known.count = 0
	}
	if !found {
		l.makeRoom()
	}
	known.count++
	known.until = now.Add(waitAfter(known.count))
	l.failures[key] = known
	return 0
}

func waitAfter(count int) time.Duration {
	if count <= failuresAllowed {
		return 0
	}
	doubled := min(count-failuresAllowed-1, 20) // no overflow
	return min(time.Second<<doubled, longestWait)
}

// makeRoom forgets the half whose waits end first: somebody who makes up names does not lose the waits for those that are tried often.
func (l *limiter) makeRoom() {
	if len(l.failures) < failuresKept {
		return
	}
	ends := make([]time.Time, 0, len(l.failures))
	for _, known := range l.failures {
		ends = append(ends, known.until)
	}
	slices.SortFunc(ends, time.Time.Compare)
	middle := ends[len(ends)/2]
	maps.DeleteFunc(l.failures, func(_ uint64, known failures) bool { return !known.until.After(middle) })
}

// networkOf is what one household or host has: of IPv6 a network of 64 bits.
func networkOf(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // fits
	return network
}
