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
	// After failuresAllowed failures each further one causes a wait: a second, then twice as long each time, up to longestWait.
	failuresAllowed = 5
	longestWait     = 15 * time.Minute
	// forgottenAfter is how long failures count after the last wait.
	forgottenAfter = time.Hour
	// failuresKept limits the stored pairs of name and address.
	failuresKept = 10000
)

// limiter slows down repeated failures, by name and address. By address alone, one person's typing errors would lock out an office that
// shares an address or a proxy. By name alone, anybody could lock a person out.
type limiter struct {
	now  func() time.Time
	seed maphash.Seed

	mutex    sync.Mutex
	failures map[uint64]failures
}

// failures are those of one name at one address.
type failures struct {
	count int
	// until is the end of the wait, or the time of the last failure.
	until time.Time
}

func newLimiter() *limiter {
	return &limiter{now: time.Now, seed: maphash.MakeSeed(), failures: map[uint64]failures{}}
}

// attempt records an attempt. It returns the wait that still applies to this name and address, whatever the password; zero if the attempt
// counts. Concurrent attempts all count.
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
	doubled := min(count-failuresAllowed-1, 20) // bounded, so that the shift cannot overflow
	return min(time.Second<<doubled, longestWait)
}

// makeRoom forgets the half with the earliest ends. Made-up names therefore do not displace the long waits of often tried ones.
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

// networkOf returns the network of one household or host: 64 bits for IPv6.
func networkOf(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // never fails: bits fits the address
	return network
}
