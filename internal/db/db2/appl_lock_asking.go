package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ApplLockAsking reads the view appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ApplLockAskingParams) ([]db.Asker, error) {
	query, arguments := d.selectPage("appl_lock_asking", db.ApplLockWaitingParams(params))
	return rowsOf(ctx, d, query, arguments, func(row *sql.Rows, asker *db.Asker) error {
		return row.Scan(
			&asker.ObjectType, &asker.ObjectID, &asker.OperatorID, &asker.DepartmentID, &asker.ClientID, &asker.Message,
			db.UTC(&asker.SinceTS), db.UTC(&asker.UntilTS), &asker.WaitedSeconds, &asker.Answer, &asker.AnswerReason,
			&asker.HolderID, &asker.HolderDepartmentID, &asker.SecondsLeft,
		)
	})
}
