package sqlite

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// AwaitApplLock runs the statement of await_appl_lock.
func (d *Driver) AwaitApplLock(ctx context.Context, params db.AwaitApplLockParams) error {
	_, err := patiently(ctx, d, func(ctx context.Context, d *Driver) (struct{}, error) {
		return struct{}{}, d.queries().AwaitApplLock(ctx, queries.AwaitApplLockParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: params.DepartmentID,
			ClientID:     params.ClientID,
			WaitSeconds:  sql.NullInt64{Int64: params.WaitSeconds, Valid: params.WaitSeconds != 0},
		})
	})
	return err
}
