package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	var result db.ApplLockVersionResult
	err := d.call(ctx, "appl_lock_version", nil, into(&result.Version))
	return result, err
}
