package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	version, err := d.queries().ApplLockVersion(ctx)
	return db.ApplLockVersionResult{Version: int(version)}, interpretError(err)
}
