package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// GetApplLockPermit calls get_appl_lock_permit.
func (d *Driver) GetApplLockPermit(ctx context.Context, params db.GetApplLockPermitParams) ([]db.Permit, error) {
	var permits []db.Permit
	err := d.call(ctx, "get_appl_lock_permit", []any{
		params.ObjectType, params.ObjectID, params.Permits, params.OperatorID, nullIfEmpty(params.DepartmentID),
		nullIfZero(params.TTLSeconds),
	}, func(row *sql.Rows) error {
		var permit db.Permit
		err := row.Scan(
			&permit.Outcome, &permit.SlotID, &permit.OperatorID, &permit.DepartmentID, &permit.Fence,
			db.UTC(&permit.ExpiresTS), &permit.SecondsLeft, &permit.Note,
		)
		permits = append(permits, permit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return permits, nil
}
