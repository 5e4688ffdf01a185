package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// retract says that the operators do not wait for the objects any more, in one transaction. It is no error if they did not.
func (o operations) retract(ctx context.Context, waiters []listingKey, clientID string) error {
	params := make([]db.RetractApplLockWaiterParams, len(waiters))
	for i, waiter := range waiters {
		params[i] = db.RetractApplLockWaiterParams{
			ObjectType: waiter.object.Type,
			ObjectID:   waiter.object.ID,
			OperatorID: waiter.operator,
			ClientID:   clientID,
		}
	}
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) {
		if len(params) == 1 {
			return struct{}{}, o.driver.RetractApplLockWaiter(ctx, params[0])
		}
		return struct{}{}, o.driver.InTx(ctx, func(inTx db.Driver) error { return inTx.RetractApplLockWaiters(ctx, params) })
	})
	if err != nil {
		return fmt.Errorf("retract %s: %w", waiters[0].object, o.changeError(err))
	}
	for _, waiter := range waiters {
		o.log(ctx, "retract_appl_lock_waiter",
			slog.String("object", waiter.object.String()),
			slog.String("operator", waiter.operator))
	}
	return nil
}
