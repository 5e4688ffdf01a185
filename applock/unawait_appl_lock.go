package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// unawait says that the operator does not wait for the object any more. It is no error if it did not.
func (o operations) unawait(ctx context.Context, object Object, operator, clientID string) error {
	params := db.UnawaitApplLockParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		ClientID:   clientID,
	}
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) { return struct{}{}, o.driver.UnawaitApplLock(ctx, params) })
	if err != nil {
		return fmt.Errorf("unawait %s: %w", object, o.changeError(err))
	}
	o.log(ctx, "unawait_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", operator))
	return nil
}
