package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// PurgeApplLocks calls purge_appl_locks_row.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	purged, err := call(ctx, d, func(q *queries.Queries) (int64, error) {
		return q.PurgeApplLocks(ctx, params.OlderThanSeconds, params.MaxRows)
	})
	return db.PurgeResult{Purged: purged}, err
}
