package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockStats reads appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Stats, error) {
		return q.ApplLockStats(ctx, queries.ApplLockStatsParams{
			ObjectType:   db.NullText(params.ObjectType),
			DepartmentID: db.NullFilter(params.DepartmentID),
		})
	})
	return db.Converted(rows, err, func(row queries.Stats) db.Stats {
		return db.Stats{
			ObjectType:         row.ObjectType,
			DepartmentID:       row.DepartmentID.String,
			Live:               row.Live,
			Expired:            row.Expired,
			OldestSeconds:      row.OldestSeconds,
			NextExpirySeconds:  row.NextExpirySeconds,
			Waiters:            row.Waiters,
			LongestWaitSeconds: row.LongestWaitSeconds,
		}
	})
}
