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
		return locksOf(rows, err, func(row queries.ApplLockLiveRow) queries.ApplLockLiveRow { return row })
	case db.LiveWaitedFor:
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockLiveWaitedForRow, error) {
			return q.ApplLockLiveWaitedFor(
				ctx, nullIfEmpty(params.ObjectType), nullIfEmpty(params.OperatorID), nullIfNil(params.DepartmentID),
				params.OlderThanSeconds, params.ExpiresWithinSeconds, params.MaxRows,
			)
		})
		return locksOf(rows, err, func(row queries.ApplLockLiveWaitedForRow) queries.ApplLockLiveRow {
			return queries.ApplLockLiveRow(row)
		})
	default:
		rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockLiveByTimeRow, error) {
			return q.ApplLockLiveByTime(
				ctx, nullIfEmpty(params.ObjectType), nullIfEmpty(params.OperatorID), nullIfNil(params.DepartmentID),
				params.OlderThanSeconds, params.ExpiresWithinSeconds, params.Order == db.LiveOldest, params.MaxRows,
			)
		})
		return locksOf(rows, err, func(row queries.ApplLockLiveByTimeRow) queries.ApplLockLiveRow { return queries.ApplLockLiveRow(row) })
	}
}

func locksOf[R any](rows []R, err error, as func(R) queries.ApplLockLiveRow) ([]db.Lock, error) {
	return db.Converted(rows, err, func(each R) db.Lock {
		row := as(each)
		return db.Lock{
			ObjectType:   row.ObjectType,
			ObjectID:     row.ObjectID,
			OperatorID:   row.OperatorID,
			DepartmentID: row.DepartmentID,
			Fence:        row.Fence,
			AcquiredTS:   utc(row.AcquiredTs),
			LockTS:       utc(row.LockTs),
			ExpiresTS:    utc(row.ExpiresTs),
			TTLSeconds:   row.TtlSeconds,
			SecondsLeft:  row.SecondsLeft,
			Note:         row.Note,
		}
	})
}
