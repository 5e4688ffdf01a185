package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ReleaseApplLock calls release_appl_lock_row.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	var result db.ReleaseApplLockResult
	err := d.call(ctx, queries.ReleaseApplLock, []any{
		params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence),
		nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
	}, into(&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID))
	if err != nil {
		return db.ReleaseApplLockResult{}, err
	}
	return result, nil
}
