package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	var okFL db.Flag
	return d.call(ctx, queries.AnnounceApplLockWaiter, []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
		nullIfZero(params.WaitSeconds),
	}, into(&okFL))
}
