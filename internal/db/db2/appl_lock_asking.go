package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockAsking reads the view appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	query, arguments := d.selectPage("appl_lock_asking", params)
	return db.Rows(ctx, d.ask, query, arguments, func(asker *db.Asker) []any {
		return []any{
			&asker.ObjectType, &asker.ObjectID, &asker.OperatorID, &asker.DepartmentID, &asker.ClientID, &asker.Message,
			&asker.SinceTS, &asker.UntilTS, &asker.WaitedSeconds, &asker.Answer, &asker.AnswerReason,
			&asker.HolderID, &asker.HolderDepartmentID, &asker.SecondsLeft,
		}
	})
}
