package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ReleaseApplLock calls release_appl_lock_row.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	var result db.ReleaseApplLockResult
	err := d.call(ctx, "release_appl_lock_row",
		[]any{params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence), nullIfZero(params.ActorID), nullIfZero(params.Reason)},
		Into(&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID))
	if err != nil {
		return db.ReleaseApplLockResult{}, err
	}
	return result, nil
}
