package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// TransferApplLock calls transfer_appl_lock_row.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.TransferApplLock(
			ctx, params.ObjectType, params.ObjectID, params.FromOperatorID, params.ToOperatorID,
			params.ToDepartmentID, nullIfZero(params.TTLSeconds), nullIfEmpty(params.ActorID),
			nullIfEmpty(params.Reason),
		)
		return moved(queries.TakeApplLockRow(row)), err
	})
}
