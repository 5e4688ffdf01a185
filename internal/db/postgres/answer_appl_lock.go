package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AnswerApplLock calls answer_appl_lock_row.
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.AnswerApplLockRow, error) {
		return q.AnswerApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.Fence, params.AskerID,
			nullIfEmpty(params.ClientID), params.Answer, params.Reason,
		)
	}, func(row queries.AnswerApplLockRow) db.Result {
		return db.Result{
			OkFL:            db.Flag(row.OkFl),
			Outcome:         db.Outcome(row.Outcome),
			OldOperatorID:   row.OldOperatorID,
			OldDepartmentID: row.OldDepartmentID,
			ExpiresTS:       utc(row.ExpiresTs),
			SecondsLeft:     row.SecondsLeft,
		}
	})
}
