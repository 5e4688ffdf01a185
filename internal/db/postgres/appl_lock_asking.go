package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockAsking reads the view appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockAskingRow, error) {
		return q.ApplLockAsking(
			ctx, params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID,
			nullIfEmpty(params.ObjectType), nullIfEmpty(params.ObjectID), nullIfEmpty(params.OperatorID),
			nullIfNil(params.DepartmentID), params.MaxRows,
		)
	})
	return db.Converted(rows, err, func(row queries.ApplLockAskingRow) db.Asker { return db.Asker(row) })
}
