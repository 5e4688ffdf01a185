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
			ObjectType:   db.NullText(params.ObjectType),
			DepartmentID: db.NullFilter(params.DepartmentID),
		})
	})
	return db.Converted(rows, err, func(row queries.ApplLockStat) db.Stats { return db.Stats(row) })
}
