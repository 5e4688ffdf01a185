package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// announce says that owner waits for the object, or still waits; both are trimmed already. Zero wait is without limit;
// any other one is sent in whole seconds, rounded up.
func (o operations) announce(ctx context.Context, object Object, owner Owner, clientID string, wait time.Duration) error {
	params := db.AnnounceApplLockWaiterParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		ClientID:     clientID,
		WaitSeconds:  waitSeconds(wait),
	}
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) { return struct{}{}, o.driver.AnnounceApplLockWaiter(ctx, params) })
	if err != nil {
		return fmt.Errorf("announce %s: %w", object, o.changeError(err))
	}
	o.log(ctx, "announce_appl_lock_waiter",
		slog.String("object", object.String()),
		slog.String("operator", owner.Operator))
	return nil
}

// waitSeconds returns zero for a wait without limit, and for one that is too long for the database.
func waitSeconds(wait time.Duration) int64 {
	if wait == 0 || wait > MaxTTL {
		return 0
	}
	return max(1, int64((wait+time.Second-1)/time.Second))
}
