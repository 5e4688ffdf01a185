package sqlite

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ListApplLocks runs the statement of list_appl_locks.
func (d *Driver) ListApplLocks(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	rows, err := patiently(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLock, error) {
		return d.queries().ListApplLocks(ctx, queries.ListApplLocksParams{
			AfterType:    params.AfterType,
			AfterID:      params.AfterID,
			ObjectType:   anyIfEmpty(params.ObjectType),
			OperatorID:   anyIfEmpty(params.OperatorID),
			DepartmentID: anyIfEmpty(params.DepartmentID),
			MaxRows:      params.MaxRows,
		})
	})
	if err != nil {
		return nil, err
	}
	locks := make([]db.Lock, len(rows))
	for i, row := range rows {
		locks[i] = lock(row)
	}
	return locks, nil
}

// anyIfEmpty returns NULL for an empty filter.
func anyIfEmpty(filter string) sql.NullString {
	return sql.NullString{String: filter, Valid: filter != ""}
}
