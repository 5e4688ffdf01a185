package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// GetApplLockPermit calls get_appl_lock_permit.
func (d *Driver) GetApplLockPermit(ctx context.Context, params db.GetApplLockPermitParams) ([]db.Permit, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.GetApplLockPermitRow, error) {
		return q.GetApplLockPermit(
			ctx, params.ObjectType, params.ObjectID, params.Permits, params.OperatorID,
			nullIfEmpty(params.DepartmentID), nullIfZero(params.TTLSeconds),
		)
	})
	return db.Converted(rows, err, func(row queries.GetApplLockPermitRow) db.Permit { return db.Permit(row) })
}
