package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockVersion calls appl_lock_version.
func (d *Driver) ApplLockVersion(ctx context.Context) (db.ApplLockVersionResult, error) {
	var result db.ApplLockVersionResult
	err := d.ask(ctx, "SELECT "+d.qualify("appl_lock_version()")+" FROM SYSIBM.SYSDUMMY1", nil, Into(&result.Version))
	if err != nil {
		return db.ApplLockVersionResult{}, err
	}
	return result, nil
}
