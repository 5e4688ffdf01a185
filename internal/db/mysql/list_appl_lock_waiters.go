package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ListApplLockWaiters calls list_appl_lock_waiters.
func (d *Driver) ListApplLockWaiters(ctx context.Context, params db.ListApplLockWaitersParams) ([]db.Waiter, error) {
	var waiters []db.Waiter
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ListApplLockWaiters(ctx, queries.ListApplLockWaitersParams{
			ObjectType:      nullIfEmpty(params.ObjectType),
			ObjectID:        nullIfEmpty(params.ObjectID),
			OperatorID:      nullIfEmpty(params.OperatorID),
			DepartmentID:    nullIfNil(params.DepartmentID),
			AfterType:       params.AfterType,
			AfterID:         params.AfterID,
			AfterOperatorID: params.AfterOperatorID,
			AfterClientID:   params.AfterClientID,
			MaxRows:         params.MaxRows,
		})
	}, func(row *sql.Rows) error {
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
