package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// PurgeApplLocks calls purge_appl_locks_row.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	var result db.PurgeApplLocksResult
	err := d.call(ctx, "purge_appl_locks_row", []any{params.OlderThanSeconds, params.MaxRows}, Into(&result.Purged))
	if err != nil {
		return db.PurgeApplLocksResult{}, err
	}
	return result, nil
}
