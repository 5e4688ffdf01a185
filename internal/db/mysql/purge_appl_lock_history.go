package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// PurgeApplLockHistory calls purge_appl_lock_history_row.
func (d *Driver) PurgeApplLockHistory(
	ctx context.Context, params db.PurgeApplLockHistoryParams,
) (db.PurgeApplLockHistoryResult, error) {
	var result db.PurgeApplLockHistoryResult
	err := d.call(ctx, "purge_appl_lock_history_row", []any{params.OlderThanSeconds, params.MaxRows}, into(&result.Purged))
	if err != nil {
		return db.PurgeApplLockHistoryResult{}, err
	}
	return result, nil
}
