package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// StatsApplLocks calls stats_appl_locks.
func (d *Driver) StatsApplLocks(ctx context.Context, params db.StatsApplLocksParams) ([]db.Stats, error) {
	rows, err := call(ctx, d, (*queries.Queries).StatsApplLocks, queries.StatsApplLocksParams{
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
