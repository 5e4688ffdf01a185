package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockStats reads the view appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	rows, err := call(ctx, d, (*queries.Queries).ApplLockStats, queries.ApplLockStatsParams{
		ObjectType:   nullIfEmpty(params.ObjectType),
		DepartmentID: nullIfNil(params.DepartmentID),
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
