package mysql

import (
	"context"
	"math"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockHistory reads appl_lock_history.
func (d *Driver) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Event, error) { return history(ctx, q, params) })
	return db.Converted(rows, err, func(row queries.Event) db.Event { return db.Event(row) })
}

// history runs the query of an order. For an operator it reads three indexes, one for each column.
func history(ctx context.Context, q *queries.Queries, params db.ApplLockHistoryParams) ([]queries.Event, error) {
	if params.NewestFirst && params.AfterEventID == 0 {
		params.AfterEventID = math.MaxInt64
	}
	if params.OperatorID == "" {
		all := queries.ApplLockHistoryParams{
			AfterEventID: params.AfterEventID,
			ObjectType:   db.NullText(params.ObjectType),
			ObjectID:     db.NullText(params.ObjectID),
			SinceSeconds: db.NullNumber(params.SinceSeconds),
			Limit:        limit(params.MaxRows),
		}
		if params.NewestFirst {
			return q.ApplLockHistoryNewest(ctx, queries.ApplLockHistoryNewestParams(all))
		}
		return q.ApplLockHistory(ctx, all)
	}
	of := queries.ApplLockHistoryOfParams{
		OperatorID:   params.OperatorID,
		AfterEventID: params.AfterEventID,
		ObjectType:   db.NullText(params.ObjectType),
		ObjectID:     db.NullText(params.ObjectID),
		SinceSeconds: db.NullNumber(params.SinceSeconds),
		Limit:        limit(params.MaxRows),
		Limit_2:      limit(params.MaxRows),
		Limit_3:      limit(params.MaxRows),
		Limit_4:      limit(params.MaxRows),
	}
	if params.NewestFirst {
		return q.ApplLockHistoryOfNewest(ctx, queries.ApplLockHistoryOfNewestParams(of))
	}
	return q.ApplLockHistoryOf(ctx, of)
}
