package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ListApplLocks runs the statement of list_appl_locks.
func (d *Driver) ListApplLocks(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	return withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]db.Lock, error) { return d.list(ctx, params) })
}

func (d *Driver) list(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	rows, err := d.queries().ListApplLocks(ctx, queries.ListApplLocksParams{
		AfterType:    params.AfterType,
		AfterID:      params.AfterID,
		ObjectType:   nullIfEmpty(params.ObjectType),
		OperatorID:   nullIfEmpty(params.OperatorID),
		DepartmentID: nullIfNil(params.DepartmentID),
		MaxRows:      params.MaxRows,
	})
	if err != nil {
		return nil, err
	}
	locks := make([]db.Lock, len(rows))
	for i, row := range rows {
		locks[i] = lock(queries.InquireApplLockRow(row))
	}
	return locks, nil
}
