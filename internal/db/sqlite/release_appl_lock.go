package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ReleaseApplLock runs the statements of release_appl_lock.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	return asWriter(ctx, d, func(ctx context.Context, d *Driver) (db.ReleaseApplLockResult, error) { return d.release(ctx, params) })
}

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
		released, err := d.queries().ReleaseApplLock(ctx, queries.ReleaseApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      nullIfZero(params.Fence),
		})
		if err != nil {
			return db.ReleaseApplLockResult{}, err
		}
		if released > 0 {
			return db.ReleaseApplLockResult{ReturnCD: db.Yes, Outcome: db.Released}, nil
		}
	}
	return db.ReleaseApplLockResult{}, contention("release_appl_lock", params.ObjectType, params.ObjectID)
}
