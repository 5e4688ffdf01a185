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
	if err != nil {
		return nil, err
	}
	stats := make([]db.Stats, len(rows))
	for i, row := range rows {
		stats[i] = db.Stats(row)
	}
	return stats, nil
}
