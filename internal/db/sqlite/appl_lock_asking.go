package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockAsking runs the statement of appl_lock_asking.
func (d *Driver) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockAsking, error) {
		return d.queries().ApplLockAsking(ctx, queries.ApplLockAskingParams(page(params)))
	})
	return db.Converted(rows, err, asker)
}

func asker(row queries.ApplLockAsking) db.Asker {
	return db.Asker{
		ObjectType:         row.ObjectType,
		ObjectID:           row.ObjectID,
		OperatorID:         row.OperatorID,
		DepartmentID:       row.DepartmentID,
		ClientID:           row.ClientID,
		Message:            row.Message,
		SinceTS:            utc(row.SinceTs),
		UntilTS:            utcOrNever(row.UntilTs),
		WaitedSeconds:      row.WaitedSeconds,
		Answer:             row.Answer,
		AnswerReason:       row.AnswerReason,
		HolderID:           row.HolderID,
		HolderDepartmentID: row.HolderDepartmentID,
		SecondsLeft:        row.SecondsLeft,
	}
}
