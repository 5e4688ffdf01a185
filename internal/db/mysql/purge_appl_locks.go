package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// PurgeApplLocks calls purge_appl_locks_row in a transaction. Without one the procedure commits each row, and each commit waits for the
// disk.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	if d.tx != nil {
		return d.Routines.PurgeApplLocks(ctx, params)
	}
	var result db.PurgeResult
	err := d.InTx(ctx, func(tx db.Driver) (err error) {
		result, err = tx.PurgeApplLocks(ctx, params)
		return err
	})
	if err != nil {
		return db.PurgeResult{}, err
	}
	return result, nil
}
