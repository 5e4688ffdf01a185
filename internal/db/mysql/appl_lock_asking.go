package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockAsking reads appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Asker, error) {
		return q.ApplLockAsking(ctx, queries.ApplLockAskingParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.Asker) db.Asker {
		return db.Asker{
			ObjectType:         row.ObjectType,
			ObjectID:           row.ObjectID,
			OperatorID:         row.OperatorID,
			DepartmentID:       row.DepartmentID,
			ClientID:           row.ClientID,
			Message:            row.Message,
			SinceTS:            row.SinceTs.Time,
			UntilTS:            row.UntilTs.Time,
			WaitedSeconds:      row.WaitedSeconds,
			Answer:             row.Answer,
			AnswerReason:       row.AnswerReason,
			HolderID:           row.HolderID,
			HolderDepartmentID: row.HolderDepartmentID,
			SecondsLeft:        row.SecondsLeft,
		}
	})
}
