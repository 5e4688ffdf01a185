package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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

	mutex    sync.Mutex
	listings map[listingKey]*listing
	pending  []*listing // to be updated
	workers  int
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

// listing is the waiters under one name. The lister's mutex guards it, and one call at a time updates it.
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
	l := &lister{leases: leases, backend: backend, listings: map[listingKey]*listing{}}
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

// add lists a waiter until limit, zero for no limit. remove removes it.
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
		found.owner, found.until = claim.owner, limit
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

// again lists names that the backend has lost, if they were listed before asked.
func (l *lister) again(objects []applock.Object, asked time.Time) {
	lost := make(map[applock.Object]bool, len(objects))
	for _, object := range objects {
		lost[object] = true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for key, found := range l.listings {
		if lost[key.object] && found.waiting > 0 && !found.busy && found.since.Before(asked) {
			l.update(found)
		}
	}
}

// update schedules a call about a change; the mutex is held.
func (l *lister) update(found *listing) {
	found.stale = true
	if found.busy {
		return
	}
	found.busy = true
	l.pending = append(l.pending, found)
	if l.workers < listers {
		l.workers++
		l.leases.background.Go(l.work)
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
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var gone []listingKey
	for len(l.pending) > 0 && len(gone) < l.atOnce {
		found := l.pending[0]
		isWaiting := found.waiting > 0
		if isWaiting && len(gone) > 0 {
			break
		}
		l.pending = l.pending[1:]
		found.stale = false
		switch {
		case isWaiting:
			return []*listing{found}, l.announcement(found)
		case found.listed:
			found.listed = false
			batch, gone = append(batch, found), append(gone, found.key)
		default: // the backend does not know it
			l.rest(found)
		}
	}
	if len(gone) == 0 {
		l.workers--
		return nil, nil
	}
	return batch, func(ctx context.Context) error { return l.retract(ctx, gone) }
}

// announcement returns the call that lists a name; the mutex is held.
func (l *lister) announcement(found *listing) func(ctx context.Context) error {
	found.listed = true
	owner, wait := found.owner, time.Duration(0)
	if !found.until.IsZero() {
		wait = max(time.Until(found.until), 1) // zero would be no limit
	}
	return func(ctx context.Context) error { return l.backend.Announce(ctx, found.key.object, owner, wait) }
}

// rest ends the work on a listing, and deletes it if it has no waiters; the mutex is held.
func (l *lister) rest(found *listing) {
	found.busy = false
	switch {
	case found.stale:
		l.update(found)
	case found.waiting == 0 && !found.listed && l.listings[found.key] == found:
		delete(l.listings, found.key)
	}
}

// done handles the answer to a call. A failed call is repeated, since polls would keep the name listed.
func (l *lister) done(batch []*listing, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, found := range batch {
		if err != nil {
			l.failed(found, err)
			continue
		}
		found.since = time.Now()
		l.rest(found)
	}
	if err == nil {
		l.leases.waiters.wakePoller() // a release may not have seen the waiter
	}
}

// failed schedules the call again after a pause, or reports to the waiters that the backend does not list the name; the mutex is held.
func (l *lister) failed(found *listing, err error) {
	found.listed = true // perhaps
	if found.waiting > 0 && !isBusy(err) && !isOutage(err) && !errors.Is(err, context.DeadlineExceeded) {
		l.refuse(found, err)
		return
	}
	l.leases.logger.LogAttrs(l.leases.stopped, slog.LevelInfo, "the list of waiters is not up to date, trying again",
		slog.String("object", found.key.object.String()), slog.Any("error", err))
	time.AfterFunc(listAgain, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		found.busy = false
		if l.leases.stopped.Err() == nil {
			l.update(found)
		}
	})
}

// refuse reports to the waiters under a name that the backend does not list it; the mutex is held. The next ones try again.
func (l *lister) refuse(found *listing, err error) {
	found.err = err
	close(found.refused)
	if l.listings[found.key] == found {
		delete(l.listings, found.key)
	}
}
