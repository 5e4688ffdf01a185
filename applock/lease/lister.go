package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// lister keeps the backend's list of waiters in step with those who wait here, in the background: no waiter waits for it, and a waiter that has
// gone by then is never listed.
type lister struct {
	leases  *Leases
	backend Announcer
	// retract takes names off the list, up to atOnce by one call.
	retract func(ctx context.Context, waiters []listingKey) error
	atOnce  int

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
	// listed is true when the backend may have the name, and since is when it last said so.
	listed bool
	since  time.Time
	// stale is true when the backend is to hear of a change, and busy while a worker has the listing or is to have it.
	stale, busy bool
	// refused is closed when the backend does not list the name, with err.
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

// again lists names once more that the backend does not have, although it was asked to list them before asked.
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

// update has a worker tell the backend of a change; the mutex is held.
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

// next returns the next call: it announces one name, or takes several off the list. Without any the worker ends.
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
		default: // the backend has never heard of it
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

// rest ends the work on a listing, and forgets it if nobody waits under it; the mutex is held.
func (l *lister) rest(found *listing) {
	found.busy = false
	switch {
	case found.stale:
		l.update(found)
	case found.waiting == 0 && !found.listed && l.listings[found.key] == found:
		delete(l.listings, found.key)
	}
}

// done notes the answer to a call. A failed call is repeated: polls would keep the name listed.
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

// failed has a call made again after a pause, unless it tells those who wait that the backend does not list the name; the mutex is held.
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

// refuse tells those who wait under a name that the backend does not list it; the mutex is held. The next ones try again.
func (l *lister) refuse(found *listing, err error) {
	found.err = err
	close(found.refused)
	if l.listings[found.key] == found {
		delete(l.listings, found.key)
	}
}
