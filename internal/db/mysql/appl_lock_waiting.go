package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockWaiting reads appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ApplLockWaitingParams) ([]db.Waiter, error) {
	var waiters []db.Waiter
	err := d.call(ctx, func(q *queries.Queries) error {
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
	}, func(row *sql.Rows) error {
		var waiter db.Waiter
		err := row.Scan(
			&waiter.ObjectType, &waiter.ObjectID, &waiter.OperatorID, &waiter.DepartmentID, &waiter.ClientID,
			db.UTC(&waiter.SinceTS), db.UTC(&waiter.UntilTS), &waiter.WaitedSeconds,
			&waiter.HolderID, &waiter.HolderDepartmentID, &waiter.SecondsLeft,
		)
		waiters = append(waiters, waiter)
		return err
	})
	if err != nil {
		return nil, err
	}
	return waiters, nil
}
