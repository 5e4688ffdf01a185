package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SeeApplLock calls see_appl_lock.
func (d *Driver) SeeApplLock(ctx context.Context, params db.SeeApplLockParams) ([]db.Presence, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.SeeApplLockRow, error) {
		return q.SeeApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
			nullIfEmpty(params.State), nullIfZero(params.TTLSeconds),
		)
	})
	return db.Converted(rows, err, func(row queries.SeeApplLockRow) db.Presence { return db.Presence(row) })
}
