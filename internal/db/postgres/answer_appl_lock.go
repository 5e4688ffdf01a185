package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AnswerApplLock calls answer_appl_lock_row.
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.AnswerApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.Fence, params.AskerID,
			nullIfEmpty(params.ClientID), params.Answer, params.Reason,
		)
		return db.Result{
			OkFL: row.OkFL, Outcome: row.Outcome, OldOperatorID: row.OldOperatorID, OldDepartmentID: row.OldDepartmentID,
			AcquiredTS: row.AcquiredTS, ExpiresTS: row.ExpiresTS, SecondsLeft: row.SecondsLeft,
		}, err
	})
}
