package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ListApplLocks calls list_appl_locks.
func (d *Driver) ListApplLocks(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	var locks []db.Lock
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ListApplLocks(ctx, queries.ListApplLocksParams{
			ObjectType:   nullIfEmpty(params.ObjectType),
			OperatorID:   nullIfEmpty(params.OperatorID),
			DepartmentID: nullIfNil(params.DepartmentID),
			AfterType:    params.AfterType,
			AfterID:      params.AfterID,
			MaxRows:      params.MaxRows,
		})
	}, func(row *sql.Rows) error {
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
