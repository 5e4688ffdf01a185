package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// lister keeps the backend's list of waiters up to date. While anything is to be told, one goroutine announces some names and removes others,
// round by round. No waiter waits for it, and a waiter that has left meanwhile is never listed.
type lister struct {
	leases  *Leases
	backend Announcer
	// retract removes up to retractedAtOnce names from the list.
	retract func(ctx context.Context, waiters []listingKey) error

	guarded[listings]
}

// listings are what a lister is reached by, with the names that somebody here waits under, or that the backend may still list.
type listings struct {
	lister  *lister
	known   map[listingKey]*listing
	pending []*listing // whose change the backend does not know
	working bool
}

const (
	// listedAtOnce is how many names a round announces, in concurrent calls: as many as an object lists.
	listedAtOnce = mostListed
	// retractedAtOnce is how many names a round removes, in one call or, if the backend cannot, in as many: few enough for a pool of connections.
	retractedAtOnce = 4 * listedAtOnce
)

// manyRetractor is a backend that removes several names in one call.
type manyRetractor interface {
	retractMany(ctx context.Context, waiters []listingKey) error
}

// listingKey is the backend's key for a waiter.
type listingKey struct {
	object   applock.Object
	operator string
}

// listing is the waiters under one name. It is reached through listings.
type listing struct {
	key     listingKey
	owner   applock.Owner
	waiting int
	// until is when the last of them gives up; zero is never. since is when the backend last confirmed the name, zero while it is asked to.
	until, since time.Time
	// pending is true while it is one of the pending.
	pending bool
	// refused is closed with err if the backend does not list the name.
	refused chan struct{}
	err     error
}

func newLister(leases *Leases, backend Announcer) *lister {
	l := &lister{leases: leases, backend: backend}
	l.value = listings{lister: l, known: map[listingKey]*listing{}}
	l.retract = l.retractEach
	if many, ok := backend.(manyRetractor); ok {
		l.retract = many.retractMany
	}
	return l
}

func (l *lister) retractEach(ctx context.Context, waiters []listingKey) error {
	failures := make([]error, len(waiters))
	var calls sync.WaitGroup
	for i, waiter := range waiters {
		calls.Go(func() { failures[i] = l.backend.Retract(ctx, waiter.object, waiter.operator) })
	}
	calls.Wait()
	return errors.Join(failures...)
}

// list lists a waiter until limit, zero for no limit, or until unlist.
func (l *lister) list(claim claim, limit time.Time) *listing {
	listings, unlock := l.lock()
	defer unlock()
	key := listingKey{object: claim.object, operator: claim.owner.Operator}
	found := listings.known[key]
	if found == nil {
		found = &listing{key: key, refused: make(chan struct{})}
		listings.known[key] = found
	}
	if found.waiting == 0 || !found.until.IsZero() && (limit.IsZero() || limit.After(found.until)) {
		found.owner, found.until = claim.owner, limit
		listings.update(found)
	}
	found.waiting++
	return found
}

func (l *lister) unlist(found *listing) {
	listings, unlock := l.lock()
	defer unlock()
	found.waiting--
	if found.waiting == 0 {
		listings.update(found)
	}
}

// relist lists names that the backend has lost, if they were listed before asked.
func (l *lister) relist(objects []applock.Object, asked time.Time) {
	lost := make(map[applock.Object]bool, len(objects))
	for _, object := range objects {
		lost[object] = true
	}
	listings, unlock := l.lock()
	defer unlock()
	for key, found := range listings.known {
		if lost[key.object] && found.waiting > 0 && !found.since.IsZero() && found.since.Before(asked) {
			listings.update(found)
		}
	}
}

// moveBack takes names off the list, and lists them again. They are as many as an object lists.
func (l *lister) moveBack(ctx context.Context, listed []listingKey) {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_ = l.retract(limited, listed) // a name that stays on the list keeps its place
	l.tell(listed)
}

// tell tells the backend about names again.
func (l *lister) tell(names []listingKey) {
	listings, unlock := l.lock()
	defer unlock()
	for _, key := range names {
		if found := listings.known[key]; found != nil {
			listings.update(found)
		}
	}
}

// update has the backend told of a change.
func (l *listings) update(found *listing) {
	if !found.pending {
		found.pending = true
		l.pending = append(l.pending, found)
	}
	if !l.working {
		l.working = true
		l.lister.leases.background.Go(l.lister.work)
	}
}

// work makes calls until nothing is pending.
func (l *lister) work() {
	for calls := l.next(); len(calls) > 0; calls = l.next() {
		ctx, cancel := context.WithTimeout(l.leases.shutdownCtx, pollLimit)
		var round sync.WaitGroup
		for _, call := range calls {
			round.Go(func() { call(ctx) })
		}
		round.Wait()
		cancel()
	}
}

// next returns the calls of the next round, which has each name once. Without any the work ends.
func (l *lister) next() (calls []func(ctx context.Context)) {
	listings, unlock := l.lock()
	defer unlock()
	var gone []listingKey
	for len(listings.pending) > 0 && len(calls) < listedAtOnce && len(gone) < retractedAtOnce {
		found := listings.pending[0]
		listings.pending = listings.pending[1:]
		found.pending = false
		switch {
		case listings.known[found.key] != found: // it has been removed or refused
		case found.waiting > 0:
			calls = append(calls, l.announcement(found))
		default:
			gone = append(gone, found.key)
		}
	}
	if len(gone) > 0 {
		calls = append(calls, l.retraction(gone))
	}
	listings.working = len(calls) > 0
	return calls
}

// announcement returns the call that lists a name. A refusal is reported to its waiters, and the next ones under the name try again.
func (l *lister) announcement(found *listing) func(ctx context.Context) {
	found.since = time.Time{}
	owner, wait := found.owner, time.Duration(0)
	if !found.until.IsZero() {
		wait = max(time.Until(found.until), 1) // zero would be no limit
	}
	return func(ctx context.Context) {
		err := l.backend.Announce(ctx, found.key.object, owner, wait)
		listings, unlock := l.lock()
		defer unlock()
		switch {
		case err == nil:
			found.since = time.Now()
			l.leases.hub.wakePoller() // a release may not have seen the waiter
		case found.waiting == 0 || isBusy(err) || isOutage(err) || errors.Is(err, context.DeadlineExceeded):
			l.again([]listingKey{found.key}, err)
		default:
			found.err = err
			close(found.refused)
			delete(listings.known, found.key)
		}
	}
}

// retraction returns the call that removes names. One that somebody waits under again is announced in the next round.
func (l *lister) retraction(gone []listingKey) func(ctx context.Context) {
	return func(ctx context.Context) {
		if err := l.retract(ctx, gone); err != nil {
			l.again(gone, err)
			return
		}
		listings, unlock := l.lock()
		defer unlock()
		for _, key := range gone {
			if found := listings.known[key]; found != nil && found.waiting == 0 {
				delete(listings.known, key)
			}
		}
	}
}

// again repeats a failed call after a pause, since polls would keep the names listed.
func (l *lister) again(names []listingKey, err error) {
	l.leases.logger.LogAttrs(l.leases.stopped, slog.LevelInfo, "the list of waiters is not up to date, trying again",
		slog.String("object", names[0].object.String()), slog.Any("error", err))
	time.AfterFunc(pollFailure, func() {
		if l.leases.stopped.Err() == nil {
			l.tell(names)
		}
	})
}
