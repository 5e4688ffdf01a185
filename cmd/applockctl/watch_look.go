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

// look is what is to be read of the database for one table.
type look struct {
	// request selects the locks. Its After is where the window begins in the order of objects.
	request applock.ListRequest
	// filter is a text that a lock must have in one of its names or its note, in any case of letters.
	filter string
	order  order
	// rows is how many locks the window has, zero for any number.
	rows int
	// last looks for the last window, which is behind the one that begins at request.After, in the order of objects.
	last bool
}

// byKey reports whether the list goes on page by page, so that a window of it can be read.
func (l look) byKey() bool { return l.order.listed() == applock.ByObject }

// sight is what a look has found.
type sight struct {
	// locks are those of the window in the order of objects, and the first 1000 or those of the filter in any other.
	locks []applock.Lock
	// waiters are those who wait for these locks, and for what nobody holds at the moment.
	waiters []applock.Waiter
	// askers are those who ask for these locks.
	askers []applock.Asker
	// skipped are the windows before that of a look for the last one, which begins behind after.
	skipped []pageStart
	after   applock.Object
	// more is true where locks come behind these.
	more bool
}

// read reads no more locks than the window has in the order of objects, but for those that the filter leaves out. In any other order
// the database sorts the first 1000; a filter could find others behind them, so it is given all.
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

// behind goes on with the window behind the last of the locks.
func (f sight) behind() sight {
	before := 0
	if last := len(f.skipped) - 1; last >= 0 {
		before = f.skipped[last].before + len(f.locks)
	}
	return sight{skipped: append(f.skipped, pageStart{f.after, before}), after: f.locks[len(f.locks)-1].Object}
}

// asking returns who asks for an object, the longest first.
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

// waiting returns who waits for each object, the longest wait first.
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

// sort sorts locks, which are in the order of objects, as the database does.
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

// count counts the locks of the type and department, whatever the filter.
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

// counted reports whether the look is for all that count counts.
func (l look) counted() bool {
	return l.request.Operator == "" && l.filter == "" && l.order != byWaiters
}

// readOthers reads who waits and who asks between the first and the last lock of the window. The lines of --output json tell of nobody
// who asks.
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
	found.askers, err = readOf(others, s.Asking(ctx, applock.AskingRequest(request)), func(asker applock.Asker) applock.Object { return asker.Object })
	return err
}

// others selects who waits or asks for what a look has found.
type others struct {
	look look
	held map[applock.Object]bool
	// last is the last object of the window, empty where it has no end.
	last    applock.Object
	restart func()
}

// readOf reads a list in the order of objects, not behind the window.
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

// showsAll reports whether no lock of the type is left out.
func (l look) showsAll() bool {
	return l.request.Operator == "" && l.request.Department == "" && l.filter == ""
}

// shows reports whether a lock passes the filter.
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
