package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockWaiting runs the statement of appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockWaiting, error) {
		return d.queries().ApplLockWaiting(ctx, page(params))
	})
	return db.Converted(rows, err, waiter)
}

func waiter(row queries.ApplLockWaiting) db.Waiter {
	return db.Waiter{
		ObjectType:         row.ObjectType,
		ObjectID:           row.ObjectID,
		OperatorID:         row.OperatorID,
		DepartmentID:       row.DepartmentID,
		ClientID:           row.ClientID,
		SinceTS:            utc(row.SinceTs),
		UntilTS:            utcOrNever(row.UntilTs),
		WaitedSeconds:      row.WaitedSeconds,
		HolderID:           row.HolderID,
		HolderDepartmentID: row.HolderDepartmentID,
		SecondsLeft:        row.SecondsLeft,
	}
}

// page starts at the type or the object, not at the first row of the table.
func page(params db.ListedParams) queries.ApplLockWaitingParams {
	if params.AfterType < params.ObjectType || params.AfterType == params.ObjectType && params.AfterID < params.ObjectID {
		params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID = params.ObjectType, params.ObjectID, "", ""
	}
	return queries.ApplLockWaitingParams{
		AfterType:       params.AfterType,
		AfterID:         params.AfterID,
		AfterOperatorID: params.AfterOperatorID,
		AfterClientID:   params.AfterClientID,
		ObjectType:      db.NullText(params.ObjectType),
		ObjectID:        db.NullText(params.ObjectID),
		OperatorID:      db.NullText(params.OperatorID),
		DepartmentID:    db.NullFilter(params.DepartmentID),
		MaxRows:         params.MaxRows,
	}
}

// utcOrNever is utc, and the zero time for NULL.
func utcOrNever(microseconds sql.NullInt64) time.Time {
	if !microseconds.Valid {
		return time.Time{}
	}
	return utc(microseconds.Int64)
}
