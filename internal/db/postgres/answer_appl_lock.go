package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AnswerApplLock calls answer_appl_lock_row.
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.AnswerApplLockResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.AnswerApplLockRow, error) {
		return q.AnswerApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.Fence, params.AskerID,
			nullIfEmpty(params.ClientID), params.Answer, params.Reason,
		)
	})
	if err != nil {
		return db.AnswerApplLockResult{}, err
	}
	return db.AnswerApplLockResult{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		ExpiresTS:       utc(row.ExpiresTs),
		SecondsLeft:     row.SecondsLeft,
	}, nil
}
