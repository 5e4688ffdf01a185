package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	return db.Row(ctx, d.call, "appl_lock_version", nil, (*db.ApplLockVersionResult).Columns)
}
