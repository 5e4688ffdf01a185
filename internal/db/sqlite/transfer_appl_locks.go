package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// TransferApplLocks runs the statements of transfer_appl_lock for each lock of a page of appl_lock_live, in one transaction. No other
// transaction writes meanwhile, so no lock changes hands after the page is read.
func (d *Driver) TransferApplLocks(ctx context.Context, params db.TransferApplLocksParams) ([]db.ChangedLock, error) {
	page := db.ApplLockLiveParams{
		ObjectType: params.ObjectType,
		OperatorID: params.FromOperatorID,
		AfterType:  params.AfterType,
		AfterID:    params.AfterID,
		MaxRows:    params.MaxRows,
	}
	if params.DryRunFL == db.Yes {
		return d.wouldChange(ctx, page, db.WouldTransfer)
	}
	return d.changeLocks(ctx, page, func(ctx context.Context, d *Driver, lock db.Lock) (db.ChangedLock, error) {
		result, err := d.TransferApplLock(ctx, db.TransferApplLockParams{
			ObjectType:     lock.ObjectType,
			ObjectID:       lock.ObjectID,
			FromOperatorID: params.FromOperatorID,
			ToOperatorID:   params.ToOperatorID,
			ToDepartmentID: params.ToDepartmentID,
			TTLSeconds:     params.TTLSeconds,
			ActorID:        params.ActorID,
			Reason:         params.Reason,
		})
		return db.ChangedLock{
			ObjectType:      lock.ObjectType,
			ObjectID:        lock.ObjectID,
			Outcome:         result.Outcome,
			OldOperatorID:   result.OldOperatorID,
			OldDepartmentID: result.OldDepartmentID,
			Fence:           result.Fence,
			ExpiresTS:       result.ExpiresTS,
			SecondsLeft:     result.SecondsLeft,
		}, err
	})
}

// changeLocks changes each lock of a page, in one transaction.
func (d *Driver) changeLocks(
	ctx context.Context, page db.ApplLockLiveParams, change func(context.Context, *Driver, db.Lock) (db.ChangedLock, error),
) ([]db.ChangedLock, error) {
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) ([]db.ChangedLock, error) {
		locks, err := d.list(ctx, page)
		if err != nil {
			return nil, err
		}
		changed := make([]db.ChangedLock, len(locks))
		for i, lock := range locks {
			if changed[i], err = change(ctx, d, lock); err != nil {
				return nil, err
			}
		}
		return changed, nil
	})
}

// wouldChange returns the locks of a page without changing them.
func (d *Driver) wouldChange(ctx context.Context, page db.ApplLockLiveParams, outcome db.Outcome) ([]db.ChangedLock, error) {
	locks, err := d.ApplLockLive(ctx, page)
	return db.Converted(locks, err, func(lock db.Lock) db.ChangedLock {
		return db.ChangedLock{
			ObjectType:  lock.ObjectType,
			ObjectID:    lock.ObjectID,
			Outcome:     outcome,
			Fence:       lock.Fence,
			ExpiresTS:   lock.ExpiresTS,
			SecondsLeft: lock.SecondsLeft,
		}
	})
}
