package postgres

import (
	"cmp"
	"context"
	"math"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockHistory reads the view appl_lock_history: by an index for an operator or an object, otherwise in key order.
func (d *Driver) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	before := cmp.Or(params.AfterEventID, math.MaxInt64)
	switch {
	case params.OperatorID != "":
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockHistoryOfOperatorRow, error) {
			return q.ApplLockHistoryOfOperator(
				ctx, params.NewestFirst, params.OperatorID, params.AfterEventID, nullIfEmpty(params.ObjectType),
				nullIfEmpty(params.ObjectID), params.SinceSeconds, params.MaxRows, before,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockHistoryOfOperatorRow) db.Event { return db.Event(row) })
	case params.ObjectType != "" && params.ObjectID != "":
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockHistoryOfObjectRow, error) {
			return q.ApplLockHistoryOfObject(
				ctx, params.NewestFirst, params.ObjectType, params.ObjectID, params.AfterEventID,
				params.SinceSeconds, params.MaxRows, before,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockHistoryOfObjectRow) db.Event { return db.Event(row) })
	default:
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockHistoryRow, error) {
			return q.ApplLockHistory(
				ctx, params.NewestFirst, params.AfterEventID, nullIfEmpty(params.ObjectType),
				nullIfEmpty(params.ObjectID), params.SinceSeconds, params.MaxRows, before,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockHistoryRow) db.Event { return db.Event(row) })
	}
}
