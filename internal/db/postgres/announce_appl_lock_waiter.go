package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) AnnounceApplLockWaiter(ctx context.Context, params db.AnnounceApplLockWaiterParams) error {
	_, err := call(ctx, d, func(q *queries.Queries) (string, error) {
		return q.AnnounceApplLockWaiter(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
			nullIfZero(params.WaitSeconds),
		)
	})
	return err
}
