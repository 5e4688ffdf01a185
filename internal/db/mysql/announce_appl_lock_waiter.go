package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	var okFL db.Flag
	return d.call(ctx, "announce_appl_lock_waiter_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
		nullIfZero(params.WaitSeconds),
	}, into(&okFL))
}
