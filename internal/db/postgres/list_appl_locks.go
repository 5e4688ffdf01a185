package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ListApplLocks calls list_appl_locks.
func (d *Driver) ListApplLocks(ctx context.Context, params db.ListApplLocksParams) ([]db.Lock, error) {
	rows, err := call(ctx, d, (*queries.Queries).ListApplLocks, queries.ListApplLocksParams{
		ObjectType:   nullIfEmpty(params.ObjectType),
		OperatorID:   nullIfEmpty(params.OperatorID),
		DepartmentID: nullIfNil(params.DepartmentID),
		AfterType:    params.AfterType,
		AfterID:      params.AfterID,
		MaxRows:      params.MaxRows,
	})
	if err != nil {
		return nil, err
	}
	locks := make([]db.Lock, len(rows))
	for i, row := range rows {
		locks[i] = db.Lock{
			ObjectType:   row.ObjectType,
			ObjectID:     row.ObjectID,
			OperatorID:   row.OperatorID,
			DepartmentID: row.DepartmentID,
			Fence:        row.Fence,
			AcquiredTS:   utc(row.AcquiredTs),
			LockTS:       utc(row.LockTs),
			ExpiresTS:    utc(row.ExpiresTs),
			SecondsLeft:  row.SecondsLeft,
			Note:         row.Note,
		}
	}
	return locks, nil
}
