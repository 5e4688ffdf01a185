package fakebackend

import (
	"time"

	"github.com/applock/applock/applock"
)

// The methods of this file are for the test: no call of a program is behind them, and nothing delays them.

// Holder returns the live grant of an object, and false where it is free.
func (b *Backend) Holder(object applock.Object) (applock.Grant, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	present := b.grants[object]
	return present, isLive(present)
}

// FreeFor returns for how long an object has been free; zero or less is for how long it stays held. It is very long for one
// that has never been held.
func (b *Backend) FreeFor(object applock.Object) time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return time.Since(b.grants[object].ExpiresAt)
}

// Held returns all live grants.
func (b *Backend) Held() []applock.Grant {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var live []applock.Grant
	for _, grant := range b.grants {
		if isLive(grant) {
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
	grant := b.begin(object, owner)
	grant.ExpiresAt = time.Now().Add(ttl).UTC()
	b.grants[object] = grant
}
