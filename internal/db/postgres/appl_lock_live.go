package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockLive reads the view appl_lock_live.
func (d *Driver) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	switch params.Order {
	case db.LiveByKey:
		if params.ObjectType > params.AfterType {
			params.AfterType, params.AfterID = params.ObjectType, ""
		}
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockLiveRow, error) {
			return q.ApplLockLive(
				ctx, params.AfterType, params.AfterID, nullIfEmpty(params.ObjectType),
				nullIfEmpty(params.OperatorID), nullIfNil(params.DepartmentID), params.OlderThanSeconds,
				params.ExpiresWithinSeconds, params.MaxRows,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockLiveRow) db.Lock { return db.Lock(row) })
	case db.LiveWaitedFor:
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockLiveWaitedForRow, error) {
			return q.ApplLockLiveWaitedFor(
				ctx, nullIfEmpty(params.ObjectType), nullIfEmpty(params.OperatorID), nullIfNil(params.DepartmentID),
				params.OlderThanSeconds, params.ExpiresWithinSeconds, params.MaxRows,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockLiveWaitedForRow) db.Lock { return db.Lock(row) })
	default:
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockLiveByTimeRow, error) {
			return q.ApplLockLiveByTime(
				ctx, nullIfEmpty(params.ObjectType), nullIfEmpty(params.OperatorID), nullIfNil(params.DepartmentID),
				params.OlderThanSeconds, params.ExpiresWithinSeconds, params.Order == db.LiveOldest, params.MaxRows,
			)
		})
		return db.Converted(rows, err, func(row queries.ApplLockLiveByTimeRow) db.Lock { return db.Lock(row) })
	}
}
