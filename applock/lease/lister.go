package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// lister keeps the backend's list of waiters in step with those who wait here, in the background: nobody waits for it, and
// who has gone before it came to that is never listed.
type lister struct {
	leases  *Leases
	backend Announcer

	mutex    sync.Mutex
	listings map[listingKey]*listing
	pending  []*listing // to be brought up to date
	workers  int
}

const (
	// listers is how many calls are under way at a time.
	listers = 8
	// listLimit bounds such a call.
	listLimit = 10 * time.Second
	// listAgain is the pause after one that failed.
	listAgain = time.Second
	// retractedAtOnce is how many names one call takes off the list, where the backend can.
	retractedAtOnce = 100
)

// manyRetractor is a backend that takes several names off its list by one call.
type manyRetractor interface {
	retractMany(ctx context.Context, waiters []listingKey) error
}

// listingKey is what a backend lists a waiter by.
type listingKey struct {
	object   applock.Object
	operator string
}

// listing is those who wait under one name. The mutex of the lister guards it; one call at a time is made for it.
type listing struct {
	key     listingKey
	owner   applock.Owner
	waiting int
	// until is when the last of them gives up; zero is never.
	until time.Time
	// wanted is true when the name is to be announced, listed when the backend may have it, and since when it had it last.
	wanted bool
	listed bool
	since  time.Time
	// pending is true while a worker has it or is to have it, and changed when it is to be looked at once more.
	pending, changed bool
	// refused is closed when the backend does not list the name, with err.
	refused chan struct{}
	err     error
}

// add lists a waiter until limit, zero for ever. remove takes it off.
func (l *lister) add(claim claim, limit time.Time) *listing {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := listingKey{object: claim.object, operator: claim.owner.Operator}
	found := l.listings[key]
	if found == nil {
		found = &listing{key: key, refused: make(chan struct{})}
		l.listings[key] = found
	}
	if found.waiting == 0 || !found.until.IsZero() && (limit.IsZero() || limit.After(found.until)) {
		found.owner, found.until, found.wanted = claim.owner, limit, true
		l.update(found)
	}
	found.waiting++
	return found
}

func (l *lister) remove(found *listing) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	found.waiting--
	if found.waiting == 0 {
		l.update(found)
	}
}

// again lists names once more that the backend does not have, although it was asked to list them before asked.
func (l *lister) again(objects []applock.Object, asked time.Time) {
	lost := make(map[applock.Object]bool, len(objects))
	for _, object := range objects {
		lost[object] = true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for key, found := range l.listings {
		if lost[key.object] && found.waiting > 0 && !found.pending && found.since.Before(asked) {
			found.wanted = true
			l.update(found)
		}
	}
}

// update gives a listing to a worker; the mutex is held.
func (l *lister) update(found *listing) {
	if found.pending {
		found.changed = true
		return
	}
	found.pending = true
	l.pending = append(l.pending, found)
	if l.workers < listers {
		l.workers++
		l.leases.background.Go(l.work)
	}
}

// work sees to what is pending, until nothing is.
func (l *lister) work() {
	for found := l.next(); found != nil; found = l.next() {
		call := l.due(found)
		if call == nil {
			continue
		}
		together := []*listing{found}
		if backend, ok := l.backend.(manyRetractor); ok && !found.listed { // any more: nobody else changes that now
			together = append(together, l.retracted()...)
			call = func(ctx context.Context) error { return backend.retractMany(ctx, keysOf(together)) }
		}
		ctx, cancel := context.WithTimeout(l.leases.shutdownCtx, listLimit)
		err := call(ctx)
		cancel()
		for _, one := range together {
			l.done(one, err)
		}
	}
}

// retracted returns the next of those who are pending, as long as they are only to be taken off the list.
func (l *lister) retracted() (gone []*listing) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for len(l.pending) > 0 && len(gone) < retractedAtOnce-1 {
		first := l.pending[0]
		if first.waiting > 0 || !first.listed {
			break
		}
		l.pending = l.pending[1:]
		first.changed, first.listed = false, false
		gone = append(gone, first)
	}
	return gone
}

func keysOf(listings []*listing) []listingKey {
	keys := make([]listingKey, len(listings))
	for i, listing := range listings {
		keys[i] = listing.key
	}
	return keys
}

// next returns what is to be seen to, nil if there is nothing: the worker ends then.
func (l *lister) next() *listing {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.pending) == 0 {
		l.workers--
		return nil
	}
	found := l.pending[0]
	l.pending = l.pending[1:]
	found.changed = false
	return found
}

// due returns the call that brings a listing up to date, nil if there is none.
func (l *lister) due(found *listing) func(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case found.waiting > 0 && found.wanted:
		found.listed, found.wanted = true, false
		wait := time.Duration(0)
		if !found.until.IsZero() {
			wait = max(time.Until(found.until), 1) // zero would be no limit
		}
		owner := found.owner
		return func(ctx context.Context) error { return l.backend.Announce(ctx, found.key.object, owner, wait) }
	case found.waiting == 0 && found.listed:
		found.listed = false
		return func(ctx context.Context) error { return l.backend.Retract(ctx, found.key.object, found.key.operator) }
	}
	l.rest(found)
	return nil
}

// rest forgets a listing that nobody waits under; the mutex is held.
func (l *lister) rest(found *listing) {
	found.pending = false
	switch {
	case found.changed:
		l.update(found)
	case found.waiting == 0 && !found.listed && l.listings[found.key] == found:
		delete(l.listings, found.key)
	}
}

// done notes the answer to a call. A failed call is repeated: polls would keep the name listed.
func (l *lister) done(found *listing, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err == nil {
		found.since = time.Now()
		l.rest(found)
		l.leases.waiters.wakePoller() // a release may not have seen the waiter
		return
	}
	found.listed, found.wanted = true, true // perhaps
	if found.waiting > 0 && !isBusy(err) && !isOutage(err) && !errors.Is(err, context.DeadlineExceeded) {
		l.refuse(found, err)
		return
	}
	l.leases.logger.LogAttrs(l.leases.stopped, slog.LevelInfo, "the list of waiters is not up to date, trying again",
		slog.String("object", found.key.object.String()), slog.Any("error", err))
	time.AfterFunc(listAgain, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		found.pending = false
		if l.leases.stopped.Err() == nil {
			l.update(found)
		}
	})
}

// refuse tells those who wait under a name that the backend does not list it; the mutex is held. The next ones try again.
func (l *lister) refuse(found *listing, err error) {
	found.err = err
	close(found.refused)
	if l.listings[found.key] == found {
		delete(l.listings, found.key)
	}
}
