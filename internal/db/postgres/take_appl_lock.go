package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// TakeApplLock calls take_appl_lock_row.
func (d *Driver) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.TakeApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.Reason,
			nullIfZero(params.ExpectedFence), nullIfZero(params.TTLSeconds),
		)
		return moved(row), err
	})
}

// moved is the result of a take, a transfer or a request.
func moved(row queries.TakeApplLockRow) db.Result {
	return db.Result{
		OkFL:            row.OkFL,
		Outcome:         row.Outcome,
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		Fence:           row.Fence,
		AcquiredTS:      row.AcquiredTS,
		ExpiresTS:       row.ExpiresTS,
		SecondsLeft:     row.SecondsLeft,
	}
}
