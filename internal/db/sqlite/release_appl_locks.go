package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ReleaseApplLocks runs the statements of release_appl_lock for each lock of a page of appl_lock_live, in one transaction. No other
// transaction writes meanwhile, so no lock changes hands after the page is read.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	page := db.ApplLockLiveParams{
		ObjectType: params.ObjectType,
		OperatorID: params.OperatorID,
		AfterType:  params.AfterType,
		AfterID:    params.AfterID,
		MaxRows:    params.MaxRows,
	}
	if params.DryRunFL == db.Yes {
		return d.wouldChange(ctx, page, db.WouldRelease)
	}
	return d.changeLocks(ctx, page, func(ctx context.Context, d *Driver, lock db.Lock) (db.ChangedLock, error) {
		changed := db.ChangedLock{ObjectType: lock.ObjectType, ObjectID: lock.ObjectID}
		result, err := d.ReleaseApplLock(ctx, db.ReleaseApplLockParams{
			ObjectType: lock.ObjectType,
			ObjectID:   lock.ObjectID,
			OperatorID: params.OperatorID,
			ActorID:    params.ActorID,
			Reason:     params.Reason,
		})
		if changed.Outcome = result.Outcome; changed.Outcome == db.Released {
			changed.Fence = lock.Fence
		}
		return changed, err
	})
}
