package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockAsking reads appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Asker, error) {
		return q.ApplLockAsking(ctx, queries.ApplLockAskingParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.Asker) db.Asker { return db.Asker(row) })
}
