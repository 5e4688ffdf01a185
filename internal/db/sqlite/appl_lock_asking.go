package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockAsking runs the statement of appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockAsking, error) {
		return d.queries().ApplLockAsking(ctx, queries.ApplLockAskingParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.ApplLockAsking) db.Asker { return db.Asker(row) })
}
