package console

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"unicode"

	"github.com/applock/applock/applock"
)

// peopleLooked is how many locks, waiters and events are looked at for the names that a form proposes, and peopleShown how many it proposes.
const (
	peopleLooked = 1000
	peopleShown  = 500
)

// unseen reports whether a character cannot be seen in a name, or turns the ones around it: two names would look the same.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// sightings has what tells of operators: who holds, who waits, and the history.
type sightings struct {
	locks   applock.ListRequest
	waiters applock.WaitersRequest
	events  applock.HistoryRequest
}

// look tells of operators, each of whom may come several times, those who hold first. It ends when enough is true.
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

// first hands on so many of a list at most, until one is enough.
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

// operatorNamed returns an operator, with a department if one is known, or nil if nobody of this name is known.
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

// people returns operators for a form to propose, in the order of their names.
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
