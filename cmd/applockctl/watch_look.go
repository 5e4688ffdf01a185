package main

import (
	"context"
	"fmt"
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
}

// byKey reports whether the list goes on page by page, so that a window of it can be read.
func (l look) byKey() bool { return l.order.listed() == applock.ByObject }

// sight is what a look has found.
type sight struct {
	// locks are those of the window in the order of objects, and the first 1000 or those of the filter in any other.
	locks []applock.Lock
	// waiters are those who wait for these locks, and for what nobody holds at the moment.
	waiters []applock.Waiter
	// more is true where locks come behind these.
	more bool
}

// read reads no more locks than the window has in the order of objects, but for those that the filter leaves out. In any other order
// the database sorts the first 1000; a filter could find others behind them, so it is given all.
func (l look) read(ctx context.Context, s session) (sight, error) {
	var found sight
	request, most := l.request, l.rows
	switch {
	case l.byKey() && l.filter == "" && l.rows > 0:
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
			found.more = true
			break
		}
		found.locks = append(found.locks, lock)
	}
	var err error
	if found.waiters, err = l.readWaiters(ctx, s, found); err != nil {
		return sight{}, err
	}
	if !l.byKey() && l.filter != "" {
		found.sort(l.order)
	}
	return found, nil
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

// readWaiters reads who waits between the first and the last lock of the window.
func (l look) readWaiters(ctx context.Context, s session, found sight) ([]applock.Waiter, error) {
	var waiters []applock.Waiter
	request := applock.WaitersRequest{ObjectType: l.request.ObjectType, After: l.request.After}
	held := map[applock.Object]bool{}
	for _, lock := range found.locks {
		held[lock.Object] = true
	}
	for waiter, err := range s.Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		s.restart()
		if l.byKey() && found.more && before(found.locks[len(found.locks)-1].Object, waiter.Object) {
			break
		}
		if held[waiter.Object] || l.showsAll() {
			waiters = append(waiters, waiter)
		}
	}
	return waiters, nil
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
