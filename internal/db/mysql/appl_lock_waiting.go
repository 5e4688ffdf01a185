package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockWaiting reads appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ApplLockWaitingParams) ([]db.Waiter, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Waiter, error) {
		return q.ApplLockWaiting(ctx, queries.ApplLockWaitingParams{
			ObjectType:      nullIfEmpty(params.ObjectType),
			ObjectID:        nullIfEmpty(params.ObjectID),
			OperatorID:      nullIfEmpty(params.OperatorID),
			DepartmentID:    nullIfNil(params.DepartmentID),
			AfterType:       params.AfterType,
			AfterID:         params.AfterID,
			AfterOperatorID: params.AfterOperatorID,
			AfterClientID:   params.AfterClientID,
			Limit:           limit(params.MaxRows),
		})
	})
	return db.Converted(rows, err, func(row queries.Waiter) db.Waiter {
		return db.Waiter{
			ObjectType:         row.ObjectType,
			ObjectID:           row.ObjectID,
			OperatorID:         row.OperatorID,
			DepartmentID:       row.DepartmentID,
			ClientID:           row.ClientID,
			SinceTS:            row.SinceTs.Time,
			UntilTS:            row.UntilTs.Time,
			WaitedSeconds:      row.WaitedSeconds,
			HolderID:           row.HolderID,
			HolderDepartmentID: row.HolderDepartmentID,
			SecondsLeft:        row.SecondsLeft,
		}
	})
}
