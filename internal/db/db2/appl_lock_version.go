package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	query := "SELECT " + d.qualify("appl_lock_version()") + " FROM SYSIBM.SYSDUMMY1"
	return db.Row(ctx, d.ask, query, nil, (*db.ApplLockVersionResult).Columns)
}
