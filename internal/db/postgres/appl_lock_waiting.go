package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockWaiting reads the view appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockWaitingRow, error) {
		return q.ApplLockWaiting(
			ctx, params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID,
			nullIfEmpty(params.ObjectType), nullIfEmpty(params.ObjectID), nullIfEmpty(params.OperatorID),
			nullIfNil(params.DepartmentID), params.MaxRows,
		)
	})
	return db.Converted(rows, err, func(row queries.ApplLockWaitingRow) db.Waiter { return db.Waiter(row) })
}
