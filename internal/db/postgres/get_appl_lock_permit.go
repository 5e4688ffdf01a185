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
	if err != nil {
		return nil, err
	}
	permits := make([]db.Permit, len(rows))
	for i, row := range rows {
		permits[i] = db.Permit{
			Outcome:      db.Outcome(row.Outcome),
			SlotID:       row.SlotID,
			OperatorID:   row.OperatorID,
			DepartmentID: row.DepartmentID,
			Fence:        row.Fence,
			ExpiresTS:    utc(row.ExpiresTs),
			SecondsLeft:  row.SecondsLeft,
			Note:         row.Note,
		}
	}
	return permits, nil
}
