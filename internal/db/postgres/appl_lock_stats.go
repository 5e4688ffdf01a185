package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockStats reads the view appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockStatsRow, error) {
		return q.ApplLockStats(ctx, nullIfEmpty(params.ObjectType), nullIfNil(params.DepartmentID))
	})
	return db.Converted(rows, err, func(row queries.ApplLockStatsRow) db.Stats { return db.Stats(row) })
}
