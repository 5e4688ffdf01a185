package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	var result db.GetApplLockResult
	err := d.call(ctx, "get_appl_lock_row",
		[]any{
			params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.DepartmentID), nullIfZero(params.TTLSeconds),
			newFlag(params.NewFL),
		},
		Into(
			&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID,
			&result.Fence, db.UTC(&result.ExpiresTS), &result.SecondsLeft, &result.Note,
		))
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return result, nil
}

// newFlag returns p_new_fl, NULL for no.
func newFlag(isNew bool) any {
	if isNew {
		return db.Yes
	}
	return nil
}

// GetApplLocks makes a call for each of params: a routine for a list would not be worth its size here.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.GetApplLockResult, error) {
	results := make([]db.GetApplLockResult, len(params))
	for i := range params {
		var err error
		if results[i], err = d.GetApplLock(ctx, params[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}
