package watch

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
)

// Order is the sort order of a list. The zero value sorts by object.
type Order string

// The orders.
const (
	ByObject  Order = "object"
	ByLeft    Order = "left"
	ByAge     Order = "age"
	ByWaiters Order = "waiters"
)

// OrderHelp describes the flag of an order.
const OrderHelp = "by object, left (the soonest end first), age (the oldest first) or waiters (the longest wait first)"

// Orders returns all orders.
func Orders() []Order { return []Order{ByObject, ByLeft, ByAge, ByWaiters} }

// Listed returns the façade's value for the order.
func (o Order) Listed() applock.ListOrder {
	switch o {
	case ByLeft:
		return applock.ByTimeLeft
	case ByAge:
		return applock.ByAge
	case ByWaiters:
		return applock.ByWaiters
	default:
		return applock.ByObject
	}
}

// Query selects the contents of the table.
type Query struct {
	// Request selects the locks. Sorted by object, the window begins behind its After.
	Request applock.ListRequest
	// filter is a text that must occur in the lock's names or its note, in any case.
	filter string
	Order  Order
	// rows is the number of locks in the window, zero for no limit.
	rows int
	// last asks for the last window behind Request.After, sorted by object.
	last bool
}

// byKey reports whether the list is sorted by object, so that it can be read window by window.
func (q Query) byKey() bool { return q.Order.Listed() == applock.ByObject }

// Snapshot is the result of a query.
type Snapshot struct {
	// Locks are those of the window if sorted by object. In any other order they are the first 1000, or those that match the filter.
	Locks []applock.Lock
	// Waiters wait for these locks, or for objects that are free at the moment.
	Waiters []applock.Waiter
	// Askers ask for these locks.
	Askers []applock.Asker
	// skipped are the windows before the last one, whose locks begin behind after.
	skipped []pageStart
	after   applock.Object
	more    bool
}

// Read reads one window if sorted by object, and skips locks that the filter excludes. In any other order the database sorts the first 1000
// locks. With a filter it reads all, since matches may follow behind the first 1000.
func (q Query) Read(ctx context.Context, s Session) (Snapshot, error) {
	found := Snapshot{after: q.Request.After}
	request, most := q.Request, q.rows
	switch {
	case q.byKey() && q.filter == "" && q.rows > 0 && !q.last:
		request.PageSize = min(q.rows+1, applock.MaxPageSize)
	case !q.byKey() && q.filter == "":
		most = applock.DefaultPageSize
		request.Order, request.PageSize = q.Order.Listed(), most+1
	case !q.byKey():
		most = 0
	}
	for lock, err := range s.List(ctx, request) {
		if err != nil {
			return Snapshot{}, err
		}
		s.Restart()
		if !q.shows(lock) {
			continue
		}
		if most > 0 && len(found.Locks) == most {
			if !q.last {
				found.more = true
				break
			}
			found = found.behind()
		}
		found.Locks = append(found.Locks, lock)
	}
	if err := q.readOthers(ctx, s, &found); err != nil {
		return Snapshot{}, err
	}
	if !q.byKey() && q.filter != "" {
		found.sort(q.Order)
	}
	return found, nil
}

// behind returns an empty Snapshot that begins behind the last lock.
func (f Snapshot) behind() Snapshot {
	before := 0
	if last := len(f.skipped) - 1; last >= 0 {
		before = f.skipped[last].before + len(f.Locks)
	}
	return Snapshot{skipped: append(f.skipped, pageStart{f.after, before}), after: f.Locks[len(f.Locks)-1].Object}
}

// asking returns the requests for each object, the oldest first.
func (f Snapshot) asking() map[applock.Object][]applock.Asker { return byObject(f.Askers, wantOfAsker) }

// waiting returns the waiters of each object, the longest wait first.
func (f Snapshot) waiting() map[applock.Object][]applock.Waiter {
	return byObject(f.Waiters, wantOfWaiter)
}

// wantOfAsker and wantOfWaiter tell what somebody wants, and since when.
func wantOfAsker(asker applock.Asker) (applock.Object, time.Time) { return asker.Object, asker.Since }
func wantOfWaiter(waiter applock.Waiter) (applock.Object, time.Time) {
	return waiter.Object, waiter.Since
}

// byObject groups what waiters or askers want, the oldest first.
func byObject[T any](all []T, want func(T) (applock.Object, time.Time)) map[applock.Object][]T {
	groups := map[applock.Object][]T{}
	for _, one := range all {
		object, _ := want(one)
		groups[object] = append(groups[object], one)
	}
	for _, group := range groups {
		oldestFirst(group, want)
	}
	return groups
}

func oldestFirst[T any](all []T, want func(T) (applock.Object, time.Time)) {
	slices.SortStableFunc(all, func(a, b T) int {
		_, since := want(a)
		_, other := want(b)
		return since.Compare(other)
	})
}

// sort sorts the locks as the database would. They arrive sorted by object.
func (f *Snapshot) sort(by Order) {
	waiting := f.waiting()
	key := func(lock applock.Lock) time.Time {
		if waiters := waiting[lock.Object]; len(waiters) > 0 {
			return waiters[0].Since
		}
		return time.Time{}
	}
	switch by {
	case ByWaiters:
		f.Locks = slices.DeleteFunc(f.Locks, func(lock applock.Lock) bool { return key(lock).IsZero() })
	case ByLeft:
		key = func(lock applock.Lock) time.Time { return lock.ExpiresAt }
	default:
		key = func(lock applock.Lock) time.Time { return lock.AcquiredAt }
	}
	slices.SortStableFunc(f.Locks, func(a, b applock.Lock) int { return key(a).Compare(key(b)) })
}

// count counts the locks of the type and department, regardless of the filter.
func (q Query) count(ctx context.Context, s Session) (counted, error) {
	all, err := s.Stats(ctx, applock.StatsRequest{ObjectType: q.Request.ObjectType, Department: q.Request.Department})
	if err != nil {
		return counted{}, fmt.Errorf("watch: %w", err)
	}
	var found counted
	for _, stats := range all {
		found.locks += stats.Live
		found.rows += stats.Live + stats.Expired
	}
	return found, nil
}

// counted reports whether the query shows all locks that count counts.
func (q Query) counted() bool {
	return q.Request.Operator == "" && q.filter == "" && q.Order != ByWaiters
}

// readOthers reads the waiters and requests between the first and the last lock of the window. The lines of --output json leave out the
// requests.
func (q Query) readOthers(ctx context.Context, s Session, found *Snapshot) error {
	others := others{query: q, held: map[applock.Object]bool{}, restart: s.Restart}
	for _, lock := range found.Locks {
		others.held[lock.Object] = true
	}
	if found.more && q.byKey() {
		others.last = found.Locks[len(found.Locks)-1].Object
	}
	request := applock.WaitersRequest{ObjectType: q.Request.ObjectType, After: found.after}
	var err error
	if found.Waiters, err = readOf(others, s.Waiters(ctx, request), wantOfWaiter); err != nil {
		return err
	}
	found.Askers, err = readOf(others, s.Asking(ctx, applock.AskingRequest(request)), wantOfAsker)
	return err
}

// others selects the waiters and requests of the locks in a snapshot.
type others struct {
	query Query
	held  map[applock.Object]bool
	// last is the last object of the window, empty if the window has no end.
	last    applock.Object
	restart func()
}

// readOf reads a list sorted by object, up to the end of the window.
func readOf[T any](others others, list iter.Seq2[T, error], want func(T) (applock.Object, time.Time)) ([]T, error) {
	var found []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		others.restart()
		object, _ := want(item)
		if others.last != (applock.Object{}) && before(others.last, object) {
			break
		}
		if others.held[object] || others.query.showsAll() {
			found = append(found, item)
		}
	}
	return found, nil
}

// showsAll reports whether the query includes all locks of the type.
func (q Query) showsAll() bool {
	return q.Request.Operator == "" && q.Request.Department == "" && q.filter == ""
}

func (q Query) shows(lock applock.Lock) bool {
	if q.filter == "" {
		return true
	}
	for _, text := range []string{lock.Object.String(), lock.Owner.Operator, lock.Owner.Department, lock.Note} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(q.filter)) {
			return true
		}
	}
	return false
}

// before compares objects by their bytes, as the database does.
func before(a, b applock.Object) bool {
	return a.Type < b.Type || a.Type == b.Type && a.ID < b.ID
}
