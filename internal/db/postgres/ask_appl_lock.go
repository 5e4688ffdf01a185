package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AskApplLock calls ask_appl_lock_row.
func (d *Driver) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.AskApplLockRow, error) {
		return q.AskApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, params.Message,
			numberOrNull(params.WaitSeconds),
		)
	}, func(row queries.AskApplLockRow) db.Result { return moved(queries.TakeApplLockRow(row)) })
}
