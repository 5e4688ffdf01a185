package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockViewers reads appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Viewer, error) {
		return q.ApplLockViewers(ctx, queries.ApplLockViewersParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.Viewer) db.Viewer { return db.Viewer(row) })
}
