package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ReleaseApplLock calls release_appl_lock_row.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	var result db.ReleaseApplLockResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ReleaseApplLock(ctx, queries.ReleaseApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      nullIfZero(params.Fence),
			ActorID:    nullIfEmpty(params.ActorID),
			Reason:     nullIfEmpty(params.Reason),
		})
	}, into(&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID))
	if err != nil {
		return db.ReleaseApplLockResult{}, err
	}
	return result, nil
}
