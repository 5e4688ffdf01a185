package sqlite

import (
	"cmp"
	"context"
	"math"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ever is more seconds than any clock here can show, before or after now.
const ever = 1 << 40

// ApplLockHistory runs one of the statements of appl_lock_history.
func (d *Driver) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	params.SinceSeconds = cmp.Or(params.SinceSeconds, ever)
	if params.NewestFirst {
		params.AfterEventID = cmp.Or(params.AfterEventID, math.MaxInt64)
	}
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockHistory, error) {
		return d.history(ctx, params)
	})
	return db.Converted(rows, err, func(row queries.ApplLockHistory) db.Event { return db.Event(row) })
}

// history runs the statement for an object, for an operator, or for all.
func (d *Driver) history(ctx context.Context, params db.ApplLockHistoryParams) ([]queries.ApplLockHistory, error) {
	q := d.queries()
	switch {
	case params.ObjectType != "" && params.ObjectID != "":
		page := queries.ApplLockHistoryOfObjectParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   db.NullText(params.OperatorID),
			SinceSeconds: params.SinceSeconds,
			AfterEventID: params.AfterEventID,
			MaxRows:      params.MaxRows,
		}
		if params.NewestFirst {
			return q.ApplLockHistoryOfObjectNewest(ctx, queries.ApplLockHistoryOfObjectNewestParams(page))
		}
		return q.ApplLockHistoryOfObject(ctx, page)
	case params.OperatorID != "":
		page := queries.ApplLockHistoryOfOperatorParams{
			OperatorID:   params.OperatorID,
			ObjectType:   db.NullText(params.ObjectType),
			ObjectID:     db.NullText(params.ObjectID),
			SinceSeconds: params.SinceSeconds,
			AfterEventID: params.AfterEventID,
			MaxRows:      params.MaxRows,
		}
		if params.NewestFirst {
			return q.ApplLockHistoryOfOperatorNewest(ctx, queries.ApplLockHistoryOfOperatorNewestParams(page))
		}
		return q.ApplLockHistoryOfOperator(ctx, page)
	}
	page := queries.ApplLockHistoryParams{
		ObjectType:   db.NullText(params.ObjectType),
		ObjectID:     db.NullText(params.ObjectID),
		SinceSeconds: params.SinceSeconds,
		AfterEventID: params.AfterEventID,
		MaxRows:      params.MaxRows,
	}
	if params.NewestFirst {
		return q.ApplLockHistoryNewest(ctx, queries.ApplLockHistoryNewestParams(page))
	}
	return q.ApplLockHistory(ctx, page)
}
