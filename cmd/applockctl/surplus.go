package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/inspect"
)

// surplus is what a monitor counts besides Stats. What the account may not read, and what a database does not have, is nil.
type surplus struct {
	requests, viewers []counted
	events            []inspect.EventCount
	// oldestEvent is zero without an event.
	oldestEvent time.Time
	stale       *inspect.StaleLocks
	version     string
	contract    int
}

// counted is the number of rows of a type and department.
type counted struct {
	objectType, department string
	rows                   int64
}

// surplusOf counts what the request selects. The history and the rows to purge are no one's, so a selection leaves them out.
func (a *app) surplusOf(ctx context.Context, s session, request applock.StatsRequest) (found surplus, err error) {
	found.version = programVersion(debug.ReadBuildInfo()).Version
	if found.contract, err = s.Version(ctx); err != nil && !errors.Is(err, applock.ErrSchema) {
		return found, err
	}
	asking := applock.AskingRequest{ObjectType: request.ObjectType, Department: request.Department, NoDepartment: request.NoDepartment}
	if found.requests, err = countedBy(s.Asking(ctx, asking), func(of applock.Asker) (applock.Object, applock.Owner) { return of.Object, of.Owner }); err != nil {
		return found, err
	}
	viewers := applock.ViewersRequest{ObjectType: request.ObjectType, Department: request.Department, NoDepartment: request.NoDepartment}
	if found.viewers, err = countedBy(s.Viewers(ctx, viewers), func(of applock.Viewer) (applock.Object, applock.Owner) { return of.Object, of.Owner }); err != nil {
		return found, err
	}
	if request != (applock.StatsRequest{}) {
		return found, nil
	}
	if found.stale, err = known(inspect.LookForStale(ctx, clients.Driver(s.Client), defaultStale)); err != nil {
		return found, err
	}
	return found, found.history(ctx, s)
}

func (f *surplus) history(ctx context.Context, s session) error {
	events, err := known(inspect.CountEvents(ctx, clients.Driver(s.Client)))
	if err != nil || events == nil {
		return err
	}
	f.events = append([]inspect.EventCount{}, *events...) // not nil: it was read
	for event, err := range s.History(ctx, applock.HistoryRequest{PageSize: 1}) {
		f.oldestEvent = event.At
		return err
	}
	return nil
}

// countedBy counts rows by type and department, in the order of their bytes.
func countedBy[T any](rows iter.Seq2[T, error], of func(T) (applock.Object, applock.Owner)) ([]counted, error) {
	counts := map[counted]int64{}
	for row, err := range rows {
		if _, err := known(row, err); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, nil
		}
		object, owner := of(row)
		counts[counted{objectType: object.Type, department: owner.Department}]++
	}
	sorted := []counted{}
	for key, rows := range counts {
		key.rows = rows
		sorted = append(sorted, key)
	}
	slices.SortFunc(sorted, func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.objectType, b.objectType), cmp.Compare(a.department, b.department))
	})
	return sorted, nil
}

// known returns nil for what this account may not read, or this database does not have.
func known[T any](found T, err error) (*T, error) {
	switch {
	case errors.Is(err, applock.ErrPrivilege), errors.Is(err, applock.ErrReadOnly), errors.Is(err, errors.ErrUnsupported):
		return nil, nil //nolint:nilnil // nothing is known
	case err != nil:
		return nil, err
	}
	return &found, nil
}
