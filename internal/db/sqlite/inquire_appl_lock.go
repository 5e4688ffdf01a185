package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// InquireApplLock runs the statement of inquire_appl_lock.
func (d *Driver) InquireApplLock(ctx context.Context, params db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	object, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (object, error) {
		return d.read(ctx, key(params))
	})
	if err != nil || !object.isLive() {
		return db.InquireApplLockResult{OkFL: db.No}, err
	}
	return db.InquireApplLockResult{OkFL: db.Yes, Lock: db.Lock{
		ObjectType:   object.ObjectType,
		ObjectID:     object.ObjectID,
		OperatorID:   object.OperatorID,
		DepartmentID: object.DepartmentID,
		Fence:        object.Fence,
		AcquiredTS:   db.AtMicro(object.AcquiredTS),
		LockTS:       db.AtMicro(object.LockTS),
		ExpiresTS:    db.AtMicro(object.ExpiresTS),
		SecondsLeft:  object.SecondsLeft,
		TTLSeconds:   object.TTLSeconds,
		Note:         object.Note,
	}}, nil
}

// key identifies an object.
type key queries.InquireApplLockParams

// object is an object's row, live or not, and the policy of its type.
type object struct {
	key
	queries.InquireApplLockRow
}

func (d *Driver) read(ctx context.Context, key key) (object, error) {
	row, err := d.queries().InquireApplLock(ctx, queries.InquireApplLockParams(key))
	return object{key, row}, err
}

func (o object) isLive() bool { return o.Live != 0 }

// isHeldBy reports whether the row is that operator's grant with that fence, live or not. A zero fence is any.
func (o object) isHeldBy(operator string, fence int64) bool {
	return o.OperatorID == operator && (fence == 0 || o.Fence == fence)
}

// newHistoryFL is Y if the history records all changes of a new grant.
func (o object) newHistoryFL() string {
	if o.HistoryLevel == db.HistoryAll {
		return db.Yes
	}
	return db.No
}
