package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ListApplLockWaiters calls list_appl_lock_waiters.
func (d *Driver) ListApplLockWaiters(ctx context.Context, params db.ListApplLockWaitersParams) ([]db.Waiter, error) {
	var waiters []db.Waiter
	err := d.call(ctx, "list_appl_lock_waiters",
		[]any{
			nullIfZero(params.ObjectType), nullIfZero(params.ObjectID),
			nullIfZero(params.OperatorID), nullIfNil(params.DepartmentID),
			params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID, params.MaxRows,
		},
		func(row *sql.Rows) error {
			var waiter db.Waiter
			err := row.Scan(
				&waiter.ObjectType, &waiter.ObjectID, &waiter.OperatorID, &waiter.DepartmentID, &waiter.ClientID,
				db.UTC(&waiter.SinceTS), db.UTC(&waiter.UntilTS), db.UTC(&waiter.ExpiresTS), &waiter.SecondsLeft,
			)
			waiters = append(waiters, waiter)
			return err
		})
	if err != nil {
		return nil, err
	}
	return waiters, nil
}
