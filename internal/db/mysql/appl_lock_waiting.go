package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockWaiting reads appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Waiter, error) {
		return q.ApplLockWaiting(ctx, page(params))
	})
	return db.Converted(rows, err, func(row queries.Waiter) db.Waiter { return db.Waiter(row) })
}

func page(params db.ListedParams) queries.ApplLockWaitingParams {
	return queries.ApplLockWaitingParams{
		ObjectType:      db.NullText(params.ObjectType),
		ObjectID:        db.NullText(params.ObjectID),
		OperatorID:      db.NullText(params.OperatorID),
		DepartmentID:    db.NullFilter(params.DepartmentID),
		AfterType:       params.AfterType,
		AfterID:         params.AfterID,
		AfterOperatorID: params.AfterOperatorID,
		AfterClientID:   params.AfterClientID,
		Limit:           limit(params.MaxRows),
	}
}
