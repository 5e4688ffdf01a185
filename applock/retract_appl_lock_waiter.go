package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// retract says that the operators do not wait for the objects any more, in one transaction. It is no error if they did not.
func (o operations) retract(ctx context.Context, params []db.RetractApplLockWaiterParams) error {
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) {
		if len(params) == 1 {
			return struct{}{}, o.driver.RetractApplLockWaiter(ctx, params[0])
		}
		return struct{}{}, o.driver.InTx(ctx, func(inTx db.Driver) error { return inTx.RetractApplLockWaiters(ctx, params) })
	})
	if err != nil {
		return fmt.Errorf("retract %s: %w", Object{Type: params[0].ObjectType, ID: params[0].ObjectID}, o.changeError(err))
	}
	for _, waiter := range params {
		o.log(ctx, "retract_appl_lock_waiter",
			slog.String("object", Object{Type: waiter.ObjectType, ID: waiter.ObjectID}.String()),
			slog.String("operator", waiter.OperatorID))
	}
	return nil
}
