package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// TransferApplLock calls transfer_appl_lock_row.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.TransferApplLockRow, error) {
		return q.TransferApplLock(
			ctx, params.ObjectType, params.ObjectID, params.FromOperatorID, params.ToOperatorID,
			params.ToDepartmentID, nullIfZero(params.TTLSeconds), nullIfEmpty(params.ActorID),
			nullIfEmpty(params.Reason),
		)
	})
	if err != nil {
		return db.TransferApplLockResult{}, err
	}
	return db.TransferApplLockResult{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		Fence:           row.Fence,
		ExpiresTS:       utc(row.ExpiresTs),
		SecondsLeft:     row.SecondsLeft,
	}, nil
}
