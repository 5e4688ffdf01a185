package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// PurgeApplLockHistory calls purge_appl_lock_history_row.
func (d *Driver) PurgeApplLockHistory(ctx context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	purged, err := call(ctx, d, func(q *queries.Queries) (int64, error) {
		return q.PurgeApplLockHistory(ctx, params.OlderThanSeconds, params.MaxRows)
	})
	return db.PurgeResult{Purged: purged}, err
}
