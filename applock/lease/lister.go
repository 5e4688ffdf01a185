package lease

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
)

// lister keeps the backend's list of waiters up to date in the background. No waiter waits for it, and a waiter that has left meanwhile is
// never listed.
type lister struct {
	leases  *Leases
	backend Announcer
	// retract removes names from the list, up to atOnce in one call.
	retract func(ctx context.Context, waiters []listingKey) error
	atOnce  int

	guarded[listings]
}

// listings are what a lister is reached by, with the names that somebody here waits under, or that the backend may still list.
type listings struct {
	lister  *lister
	known   map[listingKey]*listing
	pending []*listing // to be updated
	workers int
}

const (
	// listers is the number of concurrent calls.
	listers = 8
	// listLimit limits a call.
	listLimit = 10 * time.Second
	// listAgain is the pause after a failed call.
	listAgain = time.Second
	// retractedAtOnce is how many names one call removes, if the backend can.
	retractedAtOnce = 100
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

// listing is the waiters under one name. It is reached through listings, and one call at a time updates it.
type listing struct {
	key     listingKey
	owner   applock.Owner
	waiting int
	// until is when the last of them gives up; zero is never.
	until time.Time
	// listed is true if the backend may have the name, and since is when it last confirmed that.
	listed bool
	since  time.Time
	// stale is true if the backend does not know of a change, and busy while a worker has the listing or will have it.
	stale, busy bool
	// refused is closed with err if the backend does not list the name.
	refused chan struct{}
	err     error
}

func newLister(leases *Leases, backend Announcer) *lister {
	l := &lister{leases: leases, backend: backend}
	l.value = listings{lister: l, known: map[listingKey]*listing{}}
	if many, ok := backend.(manyRetractor); ok {
		l.retract, l.atOnce = many.retractMany, retractedAtOnce
		return l
	}
	l.atOnce = 1
	l.retract = func(ctx context.Context, waiters []listingKey) error {
		return backend.Retract(ctx, waiters[0].object, waiters[0].operator)
	}
	return l
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
		if lost[key.object] && found.waiting > 0 && !found.busy && found.since.Before(asked) {
			listings.update(found)
		}
	}
}

// moveBack takes names off the list, and lists them again.
func (l *lister) moveBack(ctx context.Context, listed []*listing) {
	moving, keys := l.beginMoving(listed)
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var failed atomic.Bool
	var group sync.WaitGroup
	for some := range slices.Chunk(keys, l.atOnce) {
		group.Go(func() {
			if l.retract(limited, some) != nil {
				failed.Store(true)
			}
		})
	}
	group.Wait()
	listings, unlock := l.lock()
	defer unlock()
	for _, found := range moving {
		found.listed, found.busy = failed.Load(), false
		listings.update(found)
	}
}

// beginMoving returns those of the listings that are listed. One that is being listed is behind others anyway.
func (l *lister) beginMoving(listed []*listing) (moving []*listing, keys []listingKey) {
	_, unlock := l.lock()
	defer unlock()
	for _, found := range listed {
		if found.listed && !found.busy && found.waiting > 0 {
			found.busy = true
			moving, keys = append(moving, found), append(keys, found.key)
		}
	}
	return moving, keys
}

// update schedules a call about a change.
func (l *listings) update(found *listing) {
	found.stale = true
	if found.busy {
		return
	}
	found.busy = true
	l.pending = append(l.pending, found)
	if l.workers < listers {
		l.workers++
		l.lister.leases.background.Go(l.lister.work)
	}
}

// work makes calls until nothing is pending.
func (l *lister) work() {
	for batch, call := l.next(); call != nil; batch, call = l.next() {
		ctx, cancel := context.WithTimeout(l.leases.shutdownCtx, listLimit)
		err := call(ctx)
		cancel()
		l.done(batch, err)
	}
}

// next returns the next call, which announces one name or removes several. Without one the worker ends.
func (l *lister) next() (batch []*listing, call func(ctx context.Context) error) {
	listings, unlock := l.lock()
	defer unlock()
	var gone []listingKey
	for len(listings.pending) > 0 && len(gone) < l.atOnce {
		found := listings.pending[0]
		isWaiting := found.waiting > 0
		if isWaiting && len(gone) > 0 {
			break
		}
		listings.pending = listings.pending[1:]
		found.stale = false
		switch {
		case isWaiting:
			return []*listing{found}, l.announcement(found)
		case found.listed:
			found.listed = false
			batch, gone = append(batch, found), append(gone, found.key)
		default: // the backend does not know it
			listings.rest(found)
		}
	}
	if len(gone) == 0 {
		listings.workers--
		return nil, nil
	}
	return batch, func(ctx context.Context) error { return l.retract(ctx, gone) }
}

// announcement returns the call that lists a name.
func (l *lister) announcement(found *listing) func(ctx context.Context) error {
	found.listed = true
	owner, wait := found.owner, time.Duration(0)
	if !found.until.IsZero() {
		wait = max(time.Until(found.until), 1) // zero would be no limit
	}
	return func(ctx context.Context) error { return l.backend.Announce(ctx, found.key.object, owner, wait) }
}

// rest ends the work on a listing, and deletes it if it has no waiters.
func (l *listings) rest(found *listing) {
	found.busy = false
	switch {
	case found.stale:
		l.update(found)
	case found.waiting == 0 && !found.listed && l.known[found.key] == found:
		delete(l.known, found.key)
	}
}

// done handles the answer to a call. A failed call is repeated, since polls would keep the name listed.
func (l *lister) done(batch []*listing, err error) {
	listings, unlock := l.lock()
	defer unlock()
	for _, found := range batch {
		if err != nil {
			listings.failed(found, err)
			continue
		}
		found.since = time.Now()
		listings.rest(found)
	}
	if err == nil {
		l.leases.hub.wakePoller() // a release may not have seen the waiter
	}
}

// failed schedules the call again after a pause, or reports to the waiters that the backend does not list the name.
func (l *listings) failed(found *listing, err error) {
	found.listed = true // perhaps
	if found.waiting > 0 && !isBusy(err) && !isOutage(err) && !errors.Is(err, context.DeadlineExceeded) {
		l.refuse(found, err)
		return
	}
	leases := l.lister.leases
	leases.logger.LogAttrs(leases.stopped, slog.LevelInfo, "the list of waiters is not up to date, trying again",
		slog.String("object", found.key.object.String()), slog.Any("error", err))
	time.AfterFunc(listAgain, func() {
		_, unlock := l.lister.lock()
		defer unlock()
		found.busy = false
		if leases.stopped.Err() == nil {
			l.update(found)
		}
	})
}

// refuse reports to the waiters under a name that the backend does not list it. The next ones try again.
func (l *listings) refuse(found *listing, err error) {
	found.err = err
	close(found.refused)
	if l.known[found.key] == found {
		delete(l.known, found.key)
	}
}
