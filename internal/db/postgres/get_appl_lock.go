package postgres

import (
	"context"
	"encoding/json"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.GetApplLockRow, error) {
		return q.GetApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, nullIfEmpty(params.DepartmentID),
			nullIfZero(params.TTLSeconds), yesOrNull(params.NewFL),
		)
	}, func(row queries.GetApplLockRow) db.Result { return got(queries.GetApplLocksRow(row)) })
}

// GetApplLocks calls get_appl_lock_row for each of params in one statement. The nested loop over the list keeps its order.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.Result, error) {
	gets, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.GetApplLocksRow, error) {
		return q.GetApplLocks(ctx, string(gets))
	})
	return db.Converted(rows, err, got)
}

func got(row queries.GetApplLocksRow) db.Result {
	return db.Result{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		Fence:           row.Fence,
		ExpiresTS:       utc(row.ExpiresTs),
		SecondsLeft:     row.SecondsLeft,
		Note:            row.Note,
	}
}
