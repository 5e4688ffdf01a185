package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
)

// look is a query for the contents of the table.
type look struct {
	// request selects the locks. Sorted by object, the window begins behind its After.
	request applock.ListRequest
	// filter is a text that must occur in the lock's names or its note, in any case.
	filter string
	order  order
	// rows is the number of locks in the window, zero for no limit.
	rows int
	// last asks for the last window behind request.After, sorted by object.
	last bool
}

// byKey reports whether the list is sorted by object, so that it can be read window by window.
func (l look) byKey() bool { return l.order.listed() == applock.ByObject }

// sight is the result of a look.
type sight struct {
	// locks are those of the window if sorted by object. In any other order they are the first 1000, or those that match the filter.
	locks []applock.Lock
	// waiters wait for these locks, or for objects that are free at the moment.
	waiters []applock.Waiter
	// askers ask for these locks.
	askers []applock.Asker
	// skipped are the windows before the last one, whose locks begin behind after.
	skipped []pageStart
	after   applock.Object
	// more is true if locks follow behind these.
	more bool
}

// read reads one window if sorted by object, and skips locks that the filter excludes. In any other order the database sorts the first 1000
// locks. With a filter it reads all, since matches may follow behind the first 1000.
func (l look) read(ctx context.Context, s session) (sight, error) {
	found := sight{after: l.request.After}
	request, most := l.request, l.rows
	switch {
	case l.byKey() && l.filter == "" && l.rows > 0 && !l.last:
		request.PageSize = min(l.rows+1, applock.MaxPageSize)
	case !l.byKey() && l.filter == "":
		most = applock.DefaultPageSize
		request.Order, request.PageSize = l.order.listed(), most+1
	case !l.byKey():
		most = 0
	}
	for lock, err := range s.List(ctx, request) {
		if err != nil {
			return sight{}, err
		}
		s.restart()
		if !l.shows(lock) {
			continue
		}
		if most > 0 && len(found.locks) == most {
			if !l.last {
				found.more = true
				break
			}
			found = found.behind()
		}
		found.locks = append(found.locks, lock)
	}
	if err := l.readOthers(ctx, s, &found); err != nil {
		return sight{}, err
	}
	if !l.byKey() && l.filter != "" {
		found.sort(l.order)
	}
	return found, nil
}

// behind returns an empty sight that begins behind the last lock.
func (f sight) behind() sight {
	before := 0
	if last := len(f.skipped) - 1; last >= 0 {
		before = f.skipped[last].before + len(f.locks)
	}
	return sight{skipped: append(f.skipped, pageStart{f.after, before}), after: f.locks[len(f.locks)-1].Object}
}

// asking returns the requests for an object, the oldest first.
func (f sight) asking(object applock.Object) []applock.Asker {
	var askers []applock.Asker
	for _, asker := range f.askers {
		if asker.Object == object {
			askers = append(askers, asker)
		}
	}
	return longestAsking(askers)
}

func longestAsking(askers []applock.Asker) []applock.Asker {
	slices.SortStableFunc(askers, func(a, b applock.Asker) int { return a.Since.Compare(b.Since) })
	return askers
}

// waiting returns the waiters of each object, the longest wait first.
func (f sight) waiting() map[applock.Object][]applock.Waiter {
	waiting := map[applock.Object][]applock.Waiter{}
	for _, waiter := range f.waiters {
		waiting[waiter.Object] = append(waiting[waiter.Object], waiter)
	}
	for _, waiters := range waiting {
		longestFirst(waiters)
	}
	return waiting
}

func longestFirst(waiters []applock.Waiter) {
	slices.SortStableFunc(waiters, func(a, b applock.Waiter) int { return a.Since.Compare(b.Since) })
}

// sort sorts the locks as the database would. They arrive sorted by object.
func (f *sight) sort(by order) {
	waiting := f.waiting()
	key := func(lock applock.Lock) time.Time {
		if waiters := waiting[lock.Object]; len(waiters) > 0 {
			return waiters[0].Since
		}
		return time.Time{}
	}
	switch by {
	case byWaiters:
		f.locks = slices.DeleteFunc(f.locks, func(lock applock.Lock) bool { return key(lock).IsZero() })
	case byLeft:
		key = func(lock applock.Lock) time.Time { return lock.ExpiresAt }
	default:
		key = func(lock applock.Lock) time.Time { return lock.AcquiredAt }
	}
	slices.SortStableFunc(f.locks, func(a, b applock.Lock) int { return key(a).Compare(key(b)) })
}

// count counts the locks of the type and department, regardless of the filter.
func (l look) count(ctx context.Context, s session) (counted, error) {
	all, err := s.Stats(ctx, applock.StatsRequest{ObjectType: l.request.ObjectType, Department: l.request.Department})
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

// counted reports whether the look shows all locks that count counts.
func (l look) counted() bool {
	return l.request.Operator == "" && l.filter == "" && l.order != byWaiters
}

// readOthers reads the waiters and requests between the first and the last lock of the window. The lines of --output json leave out the
// requests.
func (l look) readOthers(ctx context.Context, s session, found *sight) error {
	others := others{look: l, held: map[applock.Object]bool{}, restart: s.restart}
	for _, lock := range found.locks {
		others.held[lock.Object] = true
	}
	if found.more && l.byKey() {
		others.last = found.locks[len(found.locks)-1].Object
	}
	request := applock.WaitersRequest{ObjectType: l.request.ObjectType, After: found.after}
	var err error
	found.waiters, err = readOf(others, s.Waiters(ctx, request), func(waiter applock.Waiter) applock.Object { return waiter.Object })
	if err != nil {
		return err
	}
	objectOf := func(asker applock.Asker) applock.Object { return asker.Object }
	found.askers, err = readOf(others, s.Asking(ctx, applock.AskingRequest(request)), objectOf)
	return err
}

// others selects the waiters and requests of the locks in a look.
type others struct {
	look look
	held map[applock.Object]bool
	// last is the last object of the window, empty if the window has no end.
	last    applock.Object
	restart func()
}

// readOf reads a list sorted by object, up to the end of the window.
func readOf[T any](others others, list iter.Seq2[T, error], object func(T) applock.Object) ([]T, error) {
	var found []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		others.restart()
		if others.last != (applock.Object{}) && before(others.last, object(item)) {
			break
		}
		if others.held[object(item)] || others.look.showsAll() {
			found = append(found, item)
		}
	}
	return found, nil
}

// showsAll reports whether the look includes all locks of the type.
func (l look) showsAll() bool {
	return l.request.Operator == "" && l.request.Department == "" && l.filter == ""
}

func (l look) shows(lock applock.Lock) bool {
	if l.filter == "" {
		return true
	}
	for _, text := range []string{lock.Object.String(), lock.Owner.Operator, lock.Owner.Department, lock.Note} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(l.filter)) {
			return true
		}
	}
	return false
}

// before compares objects by their bytes, as the database does.
func before(a, b applock.Object) bool {
	return a.Type < b.Type || a.Type == b.Type && a.ID < b.ID
}
