package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// Inquire returns the live lock on an object, or ErrNotHeld if there is none. It never waits and changes nothing.
func (c *Client) Inquire(ctx context.Context, object Object) (Lock, error) {
	lock, err := c.operations.inquire(ctx, object)
	if err != nil {
		return Lock{}, fmt.Errorf("inquire %s: %w", object, err)
	}
	return lock, nil
}

func (o operations) inquire(ctx context.Context, object Object) (Lock, error) {
	object, err := object.trim()
	if err != nil {
		return Lock{}, err
	}
	params := db.InquireApplLockParams{ObjectType: object.Type, ObjectID: object.ID}
	result, err := retryIfUnchanged(ctx, o, func() (db.InquireApplLockResult, error) { return o.driver.InquireApplLock(ctx, params) })
	if err != nil {
		return Lock{}, o.readError(err)
	}
	o.log(ctx, "inquire_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", result.Lock.OperatorID),
		slog.Int64("fence", result.Lock.Fence),
		slog.String("outcome", string(result.OkFL)))
	if result.OkFL != db.Yes {
		return Lock{}, ErrNotHeld
	}
	return lockOf(result.Lock), nil
}

func lockOf(row db.Lock) Lock {
	return Lock{
		Object:     Object{Type: row.ObjectType, ID: row.ObjectID},
		Owner:      Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Fence:      Fence(row.Fence),
		AcquiredAt: row.AcquiredTS,
		LockedAt:   row.LockTS,
		ExpiresAt:  row.ExpiresTS,
		TTL:        time.Duration(row.TTLSeconds) * time.Second,
		Left:       time.Duration(row.SecondsLeft) * time.Second,
		Note:       row.Note,
	}
}
