package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLocks runs the statement of purge_appl_locks.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	purged, err := patiently(ctx, d, func(ctx context.Context, d *Driver) (int64, error) {
		return d.queries().PurgeApplLocks(ctx, queries.PurgeApplLocksParams{
			OlderThanSeconds: params.OlderThanSeconds,
			MaxRows:          params.MaxRows,
		})
	})
	return db.PurgeApplLocksResult{Purged: purged}, err
}
