package sqlite

import (
	"context"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockWaiting runs the statement of appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ApplLockWaitingParams) ([]db.Waiter, error) {
	// Start the page at the type or the object, not at the first row of the table.
	if params.AfterType < params.ObjectType || params.AfterType == params.ObjectType && params.AfterID < params.ObjectID {
		params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID = params.ObjectType, params.ObjectID, "", ""
	}
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockWaiting, error) {
		return d.queries().ApplLockWaiting(ctx, queries.ApplLockWaitingParams{
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
	return db.Converted(rows, err, waiter)
}

func waiter(row queries.ApplLockWaiting) db.Waiter {
	var until time.Time
	if row.UntilTs.Valid {
		until = utc(row.UntilTs.Int64)
	}
	return db.Waiter{
		ObjectType:         row.ObjectType,
		ObjectID:           row.ObjectID,
		OperatorID:         row.OperatorID,
		DepartmentID:       row.DepartmentID,
		ClientID:           row.ClientID,
		SinceTS:            utc(row.SinceTs),
		UntilTS:            until,
		WaitedSeconds:      row.WaitedSeconds,
		HolderID:           row.HolderID,
		HolderDepartmentID: row.HolderDepartmentID,
		SecondsLeft:        row.SecondsLeft,
	}
}
