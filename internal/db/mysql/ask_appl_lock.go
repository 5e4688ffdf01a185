package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// AskApplLock calls ask_appl_lock_row.
func (d *Driver) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.AskApplLockResult, error) {
	var result db.AskApplLockResult
	err := d.call(ctx, queries.AskApplLock,
		[]any{
			params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, params.Message,
			params.WaitSeconds,
		},
		into(
			&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
			db.UTC(&result.ExpiresTS), &result.SecondsLeft,
		))
	if err != nil {
		return db.AskApplLockResult{}, err
	}
	return result, nil
}
