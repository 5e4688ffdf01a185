package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	_, err := call(ctx, d, (*queries.Queries).AnnounceApplLockWaiter, queries.AnnounceApplLockWaiterParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		ClientID:     params.ClientID,
		WaitSeconds:  nullIfZero(params.WaitSeconds),
	})
	return err
}
