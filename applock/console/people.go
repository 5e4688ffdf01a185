package console

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"unicode"

	"github.com/applock/applock/applock"
)

// A form suggests peopleShown names, from the first peopleLooked locks, waiters and events.
const (
	peopleLooked = 1000
	peopleShown  = 500
)

// unseen reports whether a character is invisible or changes the direction of text, so that two different names could look the same.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// sightings are the sources of operators' names: locks, waiters and the history.
type sightings struct {
	locks   applock.ListRequest
	waiters applock.WaitersRequest
	events  applock.HistoryRequest
}

// look calls enough with each operator, holders first, possibly several times. It stops when enough returns true.
func (s sightings) look(ctx context.Context, enough func(applock.Owner) bool) error {
	client := clientOf(ctx)
	for _, look := range []func() (done bool, err error){
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
		if done, err := look(); done || err != nil {
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

// operatorNamed returns the operator with this name, with a department if known, or nil if the name is unknown.
func operatorNamed(ctx context.Context, name string) (*applock.Owner, error) {
	var found *applock.Owner
	err := sightings{
		locks:   applock.ListRequest{Operator: name, PageSize: 1},
		waiters: applock.WaitersRequest{Operator: name, PageSize: 1},
		events:  applock.HistoryRequest{Operator: name, NewestFirst: true, PageSize: rowsOfPage},
	}.look(ctx, func(owner applock.Owner) bool {
		if owner.Operator == name && (found == nil || found.Department == "") {
			found = &owner
		}
		return found != nil && found.Department != ""
	})
	return found, err
}

// people returns the operators that a form suggests, sorted by name.
func people(ctx context.Context) ([]applock.Owner, error) {
	known := map[string]applock.Owner{}
	err := sightings{
		locks:   applock.ListRequest{PageSize: applock.MaxPageSize},
		waiters: applock.WaitersRequest{PageSize: peopleLooked},
		events:  applock.HistoryRequest{NewestFirst: true, PageSize: peopleLooked},
	}.look(ctx, func(owner applock.Owner) bool {
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
