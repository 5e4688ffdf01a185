package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ReleaseApplLocks calls release_appl_locks.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ReleaseApplLocksRow, error) {
		return q.ReleaseApplLocks(
			ctx, params.OperatorID, nullIfEmpty(params.ObjectType), nullIfEmpty(params.ActorID),
			nullIfEmpty(params.Reason), params.AfterType, params.AfterID, params.MaxRows,
			nullIfEmpty(params.DryRunFL),
		)
	})
	return db.Converted(rows, err, func(row queries.ReleaseApplLocksRow) db.ChangedLock { return db.ChangedLock(row) })
}
