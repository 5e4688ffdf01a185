package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// TransferApplLocks calls transfer_appl_locks.
func (d *Driver) TransferApplLocks(ctx context.Context, params db.TransferApplLocksParams) ([]db.ChangedLock, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.TransferApplLocksRow, error) {
		return q.TransferApplLocks(
			ctx, params.FromOperatorID, nullIfEmpty(params.ObjectType), params.ToOperatorID, params.ToDepartmentID,
			nullIfZero(params.TTLSeconds), nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
			params.AfterType, params.AfterID, params.MaxRows, nullIfEmpty(params.DryRunFL),
		)
	})
	return db.Converted(rows, err, func(row queries.TransferApplLocksRow) db.ChangedLock { return db.ChangedLock(row) })
}
