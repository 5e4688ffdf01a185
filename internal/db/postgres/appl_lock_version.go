package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	version, err := call(ctx, d, func(q *queries.Queries) (int32, error) { return q.ApplLockVersion(ctx) })
	return db.ApplLockVersionResult{Version: int(version)}, err
}
