package applock

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// Inquire returns the live lock on an object, or ErrNotHeld if there is none. It never waits and changes nothing.
func (c *Client) Inquire(ctx context.Context, object Object) (Lock, error) {
	lock, err := c.ops().inquire(ctx, object)
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
	result, err := read(ctx, o, db.Driver.InquireApplLock, params)
	if err != nil {
		return Lock{}, err
	}
	o.logObject(ctx, "inquire_appl_lock", object, result.Lock.OperatorID, fenceAttr(result.Lock.Fence), outcomeAttr(result.OkFL))
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
		AcquiredAt: row.AcquiredTS.Time,
		LockedAt:   row.LockTS.Time,
		ExpiresAt:  row.ExpiresTS.Time,
		TTL:        seconds(row.TTLSeconds),
		Left:       seconds(row.SecondsLeft),
		Note:       row.Note,
	}
}
