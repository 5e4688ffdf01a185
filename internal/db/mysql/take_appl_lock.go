package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// TakeApplLock calls take_appl_lock_row.
func (d *Driver) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.TakeApplLockResult, error) {
	var result db.TakeApplLockResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.TakeApplLock(ctx, queries.TakeApplLockParams{
			ObjectType:    params.ObjectType,
			ObjectID:      params.ObjectID,
			OperatorID:    params.OperatorID,
			DepartmentID:  params.DepartmentID,
			Reason:        params.Reason,
			ExpectedFence: nullIfZero(params.ExpectedFence),
			TtlSeconds:    nullIfZero(params.TTLSeconds),
		})
	}, into(
		&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft,
	))
	if err != nil {
		return db.TakeApplLockResult{}, err
	}
	return result, nil
}
