package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// TransferApplLock calls transfer_appl_lock_row.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	var result db.TransferApplLockResult
	err := d.call(ctx, "transfer_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.FromOperatorID, params.ToOperatorID, params.ToDepartmentID,
		nullIfZero(params.TTLSeconds), nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
	}, into(
		&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft,
	))
	if err != nil {
		return db.TransferApplLockResult{}, err
	}
	return result, nil
}
