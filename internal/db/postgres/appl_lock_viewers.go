package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockViewers reads the view appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockViewersRow, error) {
		return q.ApplLockViewers(
			ctx, params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID,
			nullIfEmpty(params.ObjectType), nullIfEmpty(params.ObjectID), nullIfEmpty(params.OperatorID),
			nullIfNil(params.DepartmentID), params.MaxRows,
		)
	})
	return db.Converted(rows, err, func(row queries.ApplLockViewersRow) db.Viewer { return db.Viewer(row) })
}
