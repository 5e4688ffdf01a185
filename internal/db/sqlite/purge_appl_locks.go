package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLocks runs the statements of purge_appl_locks.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	purged, err := asWriter(ctx, d, func(ctx context.Context, d *Driver) (int64, error) {
		err := d.queries().PurgeApplLockWaiters(ctx, queries.PurgeApplLockWaitersParams{
			OlderThanSeconds: params.OlderThanSeconds,
			MaxRows:          params.MaxRows,
		})
		if err != nil {
			return 0, err
		}
		return d.queries().PurgeApplLocks(ctx, queries.PurgeApplLocksParams{
			OlderThanSeconds: params.OlderThanSeconds,
			MaxRows:          params.MaxRows,
		})
	})
	return db.PurgeApplLocksResult{Purged: purged}, err
}
