package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	var result db.GetApplLockResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.GetApplLock(ctx, queries.GetApplLockParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: nullIfEmpty(params.DepartmentID),
			TtlSeconds:   nullIfZero(params.TTLSeconds),
		})
	}, into(
		&result.LockFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft,
	))
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return result, nil
}
