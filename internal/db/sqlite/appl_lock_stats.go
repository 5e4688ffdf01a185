package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockStats runs the statement of appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockStat, error) {
		return d.queries().ApplLockStats(ctx, queries.ApplLockStatsParams{
			ObjectType:   nullIfEmpty(params.ObjectType),
			DepartmentID: nullIfNil(params.DepartmentID),
		})
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
