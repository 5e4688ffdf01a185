package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// AnnounceApplLockWaiter runs the statement of announce_appl_lock_waiter.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	_, err := asWriter(ctx, d, func(ctx context.Context, d *Driver) (struct{}, error) {
		return struct{}{}, d.queries().AnnounceApplLockWaiter(ctx, queries.AnnounceApplLockWaiterParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: params.DepartmentID,
			ClientID:     params.ClientID,
			WaitSeconds:  db.NullNumber(params.WaitSeconds),
		})
	})
	return err
}
