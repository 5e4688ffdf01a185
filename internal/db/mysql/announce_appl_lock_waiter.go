package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	var okFL db.Flag
	return d.call(ctx, func(q *queries.Queries) error {
		return q.AnnounceApplLockWaiter(ctx, queries.AnnounceApplLockWaiterParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: params.DepartmentID,
			ClientID:     params.ClientID,
			WaitSeconds:  nullIfZero(params.WaitSeconds),
		})
	}, into(&okFL))
}
