package applock

import (
	"context"
	"time"

	"github.com/applock/applock/internal/db"
)

// Announce says that owner waits for the object, or still waits; both are trimmed already. Zero wait is without limit;
// any other one is sent in whole seconds, rounded up.
func (l leased) Announce(ctx context.Context, object Object, owner Owner, clientID string, wait time.Duration) (err error) {
	defer begin(&err, "announce %s: %w", object)
	params := db.AnnounceApplLockWaiterParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		ClientID:     clientID,
		WaitSeconds:  waitSeconds(wait),
	}
	if err := l.run(ctx, func() error { return l.driver.AnnounceApplLockWaiter(ctx, params) }); err != nil {
		return l.changeError(err)
	}
	l.logObject(ctx, "announce_appl_lock_waiter", object, owner.Operator)
	return nil
}

// waitSeconds returns zero for a wait without limit, and for one that is too long for the database.
func waitSeconds(wait time.Duration) int64 {
	if wait == 0 || wait > MaxTTL {
		return 0
	}
	return max(1, int64((wait+time.Second-1)/time.Second))
}
