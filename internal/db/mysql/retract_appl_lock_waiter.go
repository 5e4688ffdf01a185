package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// RetractApplLockWaiter calls retract_appl_lock_waiter_row, whose only answer is 'Y'.
func (d *Driver) RetractApplLockWaiter(ctx context.Context, params db.RetractApplLockWaiterParams) error {
	var okFL db.Flag
	return d.call(ctx, "retract_appl_lock_waiter_row", []any{params.ObjectType, params.ObjectID, params.OperatorID, params.ClientID}, into(&okFL))
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
