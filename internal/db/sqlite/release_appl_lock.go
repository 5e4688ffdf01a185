package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ReleaseApplLock runs the statements of release_appl_lock, with what the history is told in one transaction.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	release := func(ctx context.Context, d *Driver) (db.ReleaseApplLockResult, error) { return d.release(ctx, params) }
	if params.ActorID == "" {
		params.ActorID = params.OperatorID
	}
	if params.ActorID != params.OperatorID || params.Reason != "" {
		return withEvent(ctx, d, release)
	}
	result, err := asWriter(ctx, d, release)
	if errors.Is(err, sql.ErrNoRows) {
		return withEvent(ctx, d, release)
	}
	return result, err
}

// release returns sql.ErrNoRows outside a transaction for what needs one, because the history is told of it.
func (d *Driver) release(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	for range rounds {
		inquiry, err := d.inquire(ctx, params.ObjectType, params.ObjectID)
		if err != nil {
			return db.ReleaseApplLockResult{}, err
		}
		if inquiry.ReturnCD == db.No {
			return db.ReleaseApplLockResult{ReturnCD: db.Yes, Outcome: db.Free}, nil
		}
		holder := inquiry.Lock
		if holder.OperatorID != params.OperatorID || params.Fence != 0 && params.Fence != holder.Fence {
			return db.ReleaseApplLockResult{
				ReturnCD:        db.No,
				Outcome:         db.Held,
				OldOperatorID:   holder.OperatorID,
				OldDepartmentID: holder.DepartmentID,
			}, nil
		}
		historyFL, err := d.queries().ReleaseApplLock(ctx, queries.ReleaseApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      nullIfZero(params.Fence),
			InTx:       d.inTx(),
		})
		if errors.Is(err, sql.ErrNoRows) && !d.pooled {
			continue
		}
		if err != nil {
			return db.ReleaseApplLockResult{}, err
		}
		result := db.ReleaseApplLockResult{ReturnCD: db.Yes, Outcome: db.Released}
		if historyFL == string(db.Yes) || params.ActorID != params.OperatorID || params.Reason != "" {
			err = d.recordRelease(ctx, params, holder)
		}
		return result, err
	}
	return db.ReleaseApplLockResult{}, contention("release_appl_lock", params.ObjectType, params.ObjectID)
}

// recordRelease tells the history of a release.
func (d *Driver) recordRelease(ctx context.Context, params db.ReleaseApplLockParams, ended db.Lock) error {
	return d.record(ctx, db.Event{
		ObjectType:       params.ObjectType,
		ObjectID:         params.ObjectID,
		Event:            db.EventReleased,
		ActorID:          params.ActorID,
		FromOperatorID:   params.OperatorID,
		FromDepartmentID: ended.DepartmentID,
		FromFence:        ended.Fence,
		Reason:           params.Reason,
	})
}
