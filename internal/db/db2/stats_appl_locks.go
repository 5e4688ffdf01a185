package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// StatsApplLocks calls stats_appl_locks.
func (d *Driver) StatsApplLocks(ctx context.Context, params db.StatsApplLocksParams) ([]db.Stats, error) {
	var stats []db.Stats
	err := d.call(ctx, "stats_appl_locks", []any{nullIfZero(params.ObjectType), nullIfNil(params.DepartmentID)},
		func(row *sql.Rows) error {
			var of db.Stats
			err := row.Scan(
				&of.ObjectType, &of.DepartmentID, &of.Live, &of.Expired,
				&of.OldestSeconds, &of.NextExpirySeconds, &of.Waiters, &of.LongestWaitSeconds,
			)
			stats = append(stats, of)
			return err
		})
	if err != nil {
		return nil, err
	}
	return stats, nil
}
