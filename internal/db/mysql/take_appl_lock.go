package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// TakeApplLock calls take_appl_lock_row.
func (d *Driver) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.TakeApplLockResult, error) {
	var result db.TakeApplLockResult
	err := d.call(ctx, "take_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.Reason,
		nullIfZero(params.ExpectedFence), nullIfZero(params.TTLSeconds),
	}, into(
		&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft,
	))
	if err != nil {
		return db.TakeApplLockResult{}, err
	}
	return result, nil
}
