package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockStats reads appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	var stats []db.Stats
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ApplLockStats(ctx, queries.ApplLockStatsParams{
			ObjectType:   nullIfEmpty(params.ObjectType),
			DepartmentID: nullIfNil(params.DepartmentID),
		})
	}, func(row *sql.Rows) error {
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
