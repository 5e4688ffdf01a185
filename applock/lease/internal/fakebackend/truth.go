package fakebackend

import (
	"time"

	"github.com/applock/applock/applock"
)

// The methods of this file are for the test: no call of a program is behind them, and nothing delays them.

// Holder returns the live grant of an object, and false where it is free. Its end is by the clock of the programs.
func (b *Backend) Holder(object applock.Object) (applock.Grant, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	present := b.grants[object]
	isHeld := b.isLive(present)
	present.ExpiresAt = present.ExpiresAt.Add(-b.ahead)
	return present, isHeld
}

// FreeFor returns for how long an object has been free; zero or less is for how long it stays held. It is very long for one
// that has never been held.
func (b *Backend) FreeFor(object applock.Object) time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.now().Sub(b.grants[object].ExpiresAt)
}

// Held returns all live grants.
func (b *Backend) Held() []applock.Grant {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var live []applock.Grant
	for _, grant := range b.grants {
		if b.isLive(grant) {
			live = append(live, grant)
		}
	}
	return live
}

// Waiting returns how many are listed as waiting.
func (b *Backend) Waiting() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	waiting := 0
	for _, listing := range b.listings {
		if listing.isListed() {
			waiting++
		}
	}
	return waiting
}

// Calls returns how many calls of an operation there have been.
func (b *Backend) Calls(operation string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.numbers[operation]
}

// End ends the grant of an object, as a supervisor does.
func (b *Backend) End(object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.end(object)
}

// Forget takes all waiters off the list, as a failover does to a server that had not heard of them.
func (b *Backend) Forget() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	clear(b.listings)
}

// Hold has somebody else hold an object, who was not seen coming.
func (b *Backend) Hold(object applock.Object, owner applock.Owner, ttl time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	grant := b.begin(object, owner, time.Now())
	grant.ExpiresAt = b.now().Add(ttl)
	b.grants[object] = grant
}

// Step sets the backend's clock ahead or back. What has been free stays free for as long as it was, and what is live ends by the new time, sooner or
// later than whoever holds it counts.
func (b *Backend) Step(by time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	before := b.now()
	b.ahead += by
	for object, grant := range b.grants {
		if !before.Before(grant.ExpiresAt) {
			grant.ExpiresAt = grant.ExpiresAt.Add(by)
		} else if !b.isLive(grant) {
			grant.ExpiresAt = b.now()
		}
		b.grants[object] = grant
	}
}

// Restart ends all connections, as a crash does that loses nothing which is committed: calls that have not arrived never do, those whose answers are
// under way have none, and nobody listens any more.
func (b *Backend) Restart() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.restarts++
	for ear := range b.ears {
		delete(b.ears, ear)
		close(ear.cut)
	}
}
