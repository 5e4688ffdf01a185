package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ListApplLocks calls list_appl_locks.
func (d *Driver) ListApplLocks(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	var locks []db.Lock
	err := d.call(ctx, "list_appl_locks",
		[]any{
			nullIfZero(params.ObjectType), nullIfZero(params.OperatorID), nullIfNil(params.DepartmentID),
			params.AfterType, params.AfterID, params.MaxRows,
		},
		func(row *sql.Rows) error {
			var lock db.Lock
			err := row.Scan(
				&lock.ObjectType, &lock.ObjectID, &lock.OperatorID, &lock.DepartmentID, &lock.Fence,
				db.UTC(&lock.AcquiredTS), db.UTC(&lock.LockTS), db.UTC(&lock.ExpiresTS), &lock.SecondsLeft, &lock.Note,
			)
			locks = append(locks, lock)
			return err
		})
	if err != nil {
		return nil, err
	}
	return locks, nil
}
