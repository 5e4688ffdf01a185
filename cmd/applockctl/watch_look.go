package main

import (
	"context"
	"strings"

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
	// locks are those of the window in the order of objects, and the first 1000 in any other.
	locks []applock.Lock
	// waiters are those who wait for these locks, and for what nobody holds at the moment.
	waiters []applock.Waiter
	// more is true where locks come behind the window.
	more bool
}

// read reads no more locks than the window has if the order is the database's, but for those that the filter leaves out.
func (l look) read(ctx context.Context, s session) (sight, error) {
	var found sight
	request := l.request
	request.Order = l.order.listed()
	if l.byKey() && l.filter == "" && l.rows > 0 {
		request.PageSize = min(l.rows+1, applock.MaxPageSize)
	}
	for lock, err := range s.List(ctx, request) {
		if err != nil {
			return sight{}, err
		}
		s.restart()
		if !l.shows(lock) {
			continue
		}
		if l.byKey() && l.rows > 0 && len(found.locks) == l.rows {
			found.more = true
			break
		}
		found.locks = append(found.locks, lock)
	}
	var err error
	found.waiters, err = l.readWaiters(ctx, s, found)
	return found, err
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
		if found.more && before(found.locks[len(found.locks)-1].Object, waiter.Object) {
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
