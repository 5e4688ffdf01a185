package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockViewers runs the statement of appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockViewers, error) {
		return d.queries().ApplLockViewers(ctx, queries.ApplLockViewersParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.ApplLockViewers) db.Viewer { return db.Viewer(row) })
}
