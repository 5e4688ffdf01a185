package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// InquireApplLock calls inquire_appl_lock_row.
func (d *Driver) InquireApplLock(ctx context.Context, params db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	var result db.InquireApplLockResult
	lock := db.Lock{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	err := d.call(ctx, "inquire_appl_lock_row", []any{params.ObjectType, params.ObjectID}, into(
		&result.OkFL, &lock.OperatorID, &lock.DepartmentID, &lock.Fence,
		db.UTC(&lock.AcquiredTS), db.UTC(&lock.LockTS), db.UTC(&lock.ExpiresTS), &lock.SecondsLeft, &lock.Note,
	))
	if err != nil {
		return db.InquireApplLockResult{}, err
	}
	if result.OkFL == db.Yes {
		result.Lock = lock
	}
	return result, nil
}
