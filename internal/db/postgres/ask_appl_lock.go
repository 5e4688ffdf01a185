package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AskApplLock calls ask_appl_lock_row.
func (d *Driver) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.AskApplLockResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.AskApplLockRow, error) {
		return q.AskApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, params.Message,
			numberOrNull(params.WaitSeconds),
		)
	})
	if err != nil {
		return db.AskApplLockResult{}, err
	}
	return db.AskApplLockResult{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		Fence:           row.Fence,
		ExpiresTS:       utc(row.ExpiresTs),
		SecondsLeft:     row.SecondsLeft,
	}, nil
}
