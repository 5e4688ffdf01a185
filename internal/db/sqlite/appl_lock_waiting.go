package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockWaiting runs the statement of appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockWaiting, error) {
		return d.queries().ApplLockWaiting(ctx, page(params))
	})
	return db.Converted(rows, err, func(row queries.ApplLockWaiting) db.Waiter { return db.Waiter(row) })
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
