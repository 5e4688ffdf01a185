package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// RetractApplLockWaiter runs the statement of retract_appl_lock_waiter.
func (d *Driver) RetractApplLockWaiter(ctx context.Context, params db.RetractApplLockWaiterParams) error {
	_, err := asWriter(ctx, d, func(ctx context.Context, d *Driver) (struct{}, error) {
		return struct{}{}, d.queries().RetractApplLockWaiter(ctx, queries.RetractApplLockWaiterParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			ClientID:   params.ClientID,
		})
	})
	return err
}

// RetractApplLockWaiters makes a call for each of params.
func (d *Driver) RetractApplLockWaiters(ctx context.Context, params []db.RetractApplLockWaiterParams) error {
	for _, waiter := range params {
		if err := d.RetractApplLockWaiter(ctx, waiter); err != nil {
			return err
		}
	}
	return nil
}
