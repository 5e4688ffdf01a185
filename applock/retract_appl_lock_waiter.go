package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// retract says that the operator does not wait for the object any more. It is no error if it did not.
func (o operations) retract(ctx context.Context, object Object, operator, clientID string) error {
	params := db.RetractApplLockWaiterParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		ClientID:   clientID,
	}
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) { return struct{}{}, o.driver.RetractApplLockWaiter(ctx, params) })
	if err != nil {
		return fmt.Errorf("retract %s: %w", object, o.changeError(err))
	}
	o.log(ctx, "retract_appl_lock_waiter",
		slog.String("object", object.String()),
		slog.String("operator", operator))
	return nil
}
