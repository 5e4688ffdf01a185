package postgres

import (
	"context"
	"encoding/json"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// RetractApplLockWaiter calls retract_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) RetractApplLockWaiter(ctx context.Context, params db.RetractApplLockWaiterParams) error {
	_, err := call(ctx, d, func(q *queries.Queries) (string, error) {
		return q.RetractApplLockWaiter(ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.ClientID)
	})
	return err
}

// RetractApplLockWaiters calls retract_appl_lock_waiter_row for each of params, in one statement.
func (d *Driver) RetractApplLockWaiters(ctx context.Context, params []db.RetractApplLockWaiterParams) error {
	waiters, err := json.Marshal(params)
	if err != nil {
		return err
	}
	_, err = call(ctx, d, func(q *queries.Queries) ([]string, error) {
		return q.RetractApplLockWaiters(ctx, string(waiters))
	})
	return err
}
