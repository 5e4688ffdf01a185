package sqlite

import (
	"context"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ListApplLockWaiters runs the statement of list_appl_lock_waiters.
func (d *Driver) ListApplLockWaiters(ctx context.Context, params db.ListApplLockWaitersParams) ([]db.Waiter, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ListApplLockWaitersRow, error) {
		return d.queries().ListApplLockWaiters(ctx, queries.ListApplLockWaitersParams{
			AfterType:       params.AfterType,
			AfterID:         params.AfterID,
			AfterOperatorID: params.AfterOperatorID,
			AfterClientID:   params.AfterClientID,
			ObjectType:      nullIfEmpty(params.ObjectType),
			ObjectID:        nullIfEmpty(params.ObjectID),
			OperatorID:      nullIfEmpty(params.OperatorID),
			DepartmentID:    nullIfNil(params.DepartmentID),
			MaxRows:         params.MaxRows,
		})
	})
	if err != nil {
		return nil, err
	}
	waiters := make([]db.Waiter, len(rows))
	for i, row := range rows {
		waiters[i] = waiter(row)
	}
	return waiters, nil
}

func waiter(row queries.ListApplLockWaitersRow) db.Waiter {
	var until time.Time
	if row.UntilTs.Valid {
		until = utc(row.UntilTs.Int64)
	}
	return db.Waiter{
		ObjectType:   row.ObjectType,
		ObjectID:     row.ObjectID,
		OperatorID:   row.OperatorID,
		DepartmentID: row.DepartmentID,
		ClientID:     row.ClientID,
		SinceTS:      utc(row.SinceTs),
		UntilTS:      until,
		ExpiresTS:    utc(row.ExpiresTs),
		SecondsLeft:  row.SecondsLeft,
	}
}
