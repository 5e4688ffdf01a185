package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AwaitApplLock calls await_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AwaitApplLock(ctx context.Context, params db.AwaitApplLockParams) error {
	_, err := d.queries().AwaitApplLock(ctx, queries.AwaitApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		ClientID:     params.ClientID,
		WaitSeconds:  pgtype.Int8{Int64: params.WaitSeconds, Valid: params.WaitSeconds != 0},
	})
	return interpretError(err)
}
