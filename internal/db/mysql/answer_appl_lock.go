package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AnswerApplLock calls answer_appl_lock_row.
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.AnswerApplLockResult, error) {
	var result db.AnswerApplLockResult
	err := d.call(ctx, "answer_appl_lock_row",
		[]any{
			params.ObjectType, params.ObjectID, params.OperatorID, params.Fence, params.AskerID, nullIfEmpty(params.ClientID),
			params.Answer, params.Reason,
		},
		into(
			&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID,
			db.UTC(&result.ExpiresTS), &result.SecondsLeft,
		))
	if err != nil {
		return db.AnswerApplLockResult{}, err
	}
	return result, nil
}
