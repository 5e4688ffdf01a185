package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// StatsApplLocks runs the statement of stats_appl_locks.
func (d *Driver) StatsApplLocks(ctx context.Context, params db.StatsApplLocksParams) ([]db.Stats, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.StatsApplLocksRow, error) {
		return d.queries().StatsApplLocks(ctx, queries.StatsApplLocksParams{
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
