package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion runs the statement of appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	version, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (int64, error) { return d.queries().ApplLockVersion(ctx) })
	return db.ApplLockVersionResult{Version: int(version)}, err
}
