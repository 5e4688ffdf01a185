package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ReleaseApplLock calls release_appl_lock_row.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	var result db.ReleaseApplLockResult
	err := d.call(ctx, "release_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence),
		nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
	}, into(&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID))
	if err != nil {
		return db.ReleaseApplLockResult{}, err
	}
	return result, nil
}

// PassApplLock is [db.Passer.PassApplLock], by release_appl_lock_pass.
func (d *Driver) PassApplLock(
	ctx context.Context, release db.ReleaseApplLockParams, next db.GetApplLockParams,
) (db.PassApplLockResult, error) {
	result := db.PassApplLockResult{}
	err := d.call(ctx, "release_appl_lock_pass", []any{
		release.ObjectType, release.ObjectID, release.OperatorID, release.Fence,
		next.OperatorID, nullIfEmpty(next.DepartmentID), nullIfZero(next.TTLSeconds),
	}, into(&result.Released, &result.Next.Outcome, &result.Next.Fence, db.UTC(&result.Next.ExpiresTS), &result.Next.SecondsLeft))
	if err != nil {
		return db.PassApplLockResult{}, err
	}
	if result.Released == db.Released {
		result.Next.OkFL = db.Yes
	}
	return result, nil
}
