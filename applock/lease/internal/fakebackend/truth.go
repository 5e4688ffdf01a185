package fakebackend

import (
	"time"

	"github.com/applock/applock/applock"
)

// The methods in this file are for the test itself. They are not calls of a program, and no fault affects them.

// Holder returns the live grant of an object, or false if it is free. The grant's end is by the programs' clock.
func (b *Backend) Holder(object applock.Object) (applock.Grant, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	present := b.grants[object]
	isHeld := b.isLive(present)
	present.ExpiresAt = present.ExpiresAt.Add(-b.ahead)
	return present, isHeld
}

// FreeFor returns how long an object has been free. Zero or less is how long it stays held. For an object that was never held it is very
// long.
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

// Waiting returns the number of listed waiters.
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

// Calls returns the number of calls of an operation.
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

// Forget removes all waiters from the list, as a failover to a server without them does.
func (b *Backend) Forget() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	clear(b.listings)
}

// Hold gives an object to an operator from outside the programs.
func (b *Backend) Hold(object applock.Object, owner applock.Owner, ttl time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.begin(Claim{Object: object, Owner: owner, TTL: ttl}, time.Now(), applock.OutcomeAcquired)
}

// Step sets the backend's clock forward or back. Free objects stay free for as long as they were. Live grants end by the new time, sooner
// or later than their holders expect.
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

// Restart ends all connections, as a crash does that loses nothing committed. Calls on their way never arrive, calls whose answers are on
// their way have none, and all listeners end.
func (b *Backend) Restart() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.restarts++
	for listening := range b.listeners {
		delete(b.listeners, listening)
		close(listening.cut)
	}
}
