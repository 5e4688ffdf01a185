package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AskApplLock calls ask_appl_lock_row.
func (d *Driver) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.AskApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, params.Message,
			numberOrNull(params.WaitSeconds),
		)
		return moved(queries.TakeApplLockRow(row)), err
	})
}
