package applock

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Retract says that the operators do not wait for the objects any more, in one transaction. It is no error if they did not.
func (l leased) Retract(ctx context.Context, waiters []db.RetractApplLockWaiterParams) (err error) {
	defer begin(&err, "retract %s: %w", Object{Type: waiters[0].ObjectType, ID: waiters[0].ObjectID})
	err = l.run(ctx, func() error {
		if len(waiters) == 1 {
			return l.driver.RetractApplLockWaiter(ctx, waiters[0])
		}
		return l.driver.InTx(ctx, func(inTx db.Driver) error { return inTx.RetractApplLockWaiters(ctx, waiters) })
	})
	if err != nil {
		return l.changeError(err)
	}
	for _, waiter := range waiters {
		l.logObject(ctx, "retract_appl_lock_waiter", Object{Type: waiter.ObjectType, ID: waiter.ObjectID}, waiter.OperatorID)
	}
	return nil
}
