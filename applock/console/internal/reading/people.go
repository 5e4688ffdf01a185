package reading

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/applock/applock/applock"
)

// A form suggests peopleShown names, from the first peopleRead locks, waiters and events.
const (
	peopleRead  = 1000
	peopleShown = 500
)

// sightings are the sources of operators' names: locks, waiters and the history.
type sightings struct {
	locks   applock.ListRequest
	waiters applock.WaitersRequest
	events  applock.HistoryRequest
}

// each calls enough with each operator, holders first, possibly several times. It stops when enough returns true.
func (s sightings) each(ctx context.Context, client *applock.Client, enough func(applock.Owner) bool) error {
	for _, read := range []func() (done bool, err error){
		func() (bool, error) {
			return first(client.List(ctx, s.locks), s.locks.PageSize, func(l applock.Lock) bool { return enough(l.Owner) })
		},
		func() (bool, error) {
			return first(client.Waiters(ctx, s.waiters), s.waiters.PageSize, func(w applock.Waiter) bool { return enough(w.Owner) })
		},
		func() (bool, error) {
			return first(client.History(ctx, s.events), s.events.PageSize, func(e applock.Event) bool {
				return enough(e.To) || enough(e.From) || enough(applock.Owner{Operator: e.Actor})
			})
		},
	} {
		if done, err := read(); done || err != nil {
			return err
		}
	}
	return nil
}

// first calls enough with at most most items of a list, and stops when it returns true.
func first[T any](list iter.Seq2[T, error], most int, enough func(T) bool) (done bool, err error) {
	for one, err := range list {
		if err != nil || enough(one) {
			return true, err
		}
		if most--; most == 0 {
			break
		}
	}
	return false, nil
}

// Collect returns at most so many items of a list.
func Collect[T any](list iter.Seq2[T, error], most int) (all []T, err error) {
	_, err = first(list, most, func(one T) bool {
		all = append(all, one)
		return false
	})
	return all, err
}

// OperatorNamed returns the operator with this name, with a department if known, or nil if the name is unknown.
func (r *Reader) OperatorNamed(ctx context.Context, name string) (*applock.Owner, error) {
	var found *applock.Owner
	err := sightings{
		locks:   applock.ListRequest{Operator: name, PageSize: 1},
		waiters: applock.WaitersRequest{Operator: name, PageSize: 1},
		events:  applock.HistoryRequest{Operator: name, NewestFirst: true, PageSize: RowsOfPage},
	}.each(ctx, r.client, func(owner applock.Owner) bool {
		if owner.Operator == name && (found == nil || found.Department == "") {
			found = &owner
		}
		return found != nil && found.Department != ""
	})
	return found, err
}

// People returns the operators that a form suggests, sorted by name.
func (r *Reader) People(ctx context.Context) ([]applock.Owner, error) {
	known := map[string]applock.Owner{}
	err := sightings{
		locks:   applock.ListRequest{PageSize: applock.MaxPageSize},
		waiters: applock.WaitersRequest{PageSize: peopleRead},
		events:  applock.HistoryRequest{NewestFirst: true, PageSize: peopleRead},
	}.each(ctx, r.client, func(owner applock.Owner) bool {
		if owner.Operator != "" && known[owner.Operator].Department == "" {
			known[owner.Operator] = owner
		}
		return false
	})
	var owners []applock.Owner
	for _, owner := range known {
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, func(a, b applock.Owner) int { return cmp.Compare(a.Operator, b.Operator) })
	return owners[:min(len(owners), peopleShown)], err
}
