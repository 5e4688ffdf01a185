package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ReleaseApplLock reads, decides, and runs the statement of release_appl_lock, with what the history is told in one transaction.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	params.ActorID = cmp.Or(params.ActorID, params.OperatorID)
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "release_appl_lock", key, func(object object) decision[db.ReleaseApplLockResult] {
		own := object.isHeldBy(params.OperatorID, params.Fence)
		switch {
		case !object.isLive() && (!own || object.ReleasedTs != 0):
			return decision[db.ReleaseApplLockResult]{answer: db.ReleaseApplLockResult{OkFL: db.Yes, Outcome: db.Free}}
		case !own:
			return decision[db.ReleaseApplLockResult]{answer: db.ReleaseApplLockResult{
				OkFL:            db.No,
				Outcome:         db.Held,
				OldOperatorID:   object.OperatorID,
				OldDepartmentID: object.DepartmentID,
			}}
		}
		told := object.isLive() &&
			(object.HistoryFl == string(db.Yes) || params.ActorID != params.OperatorID || params.Reason != "")
		return decision[db.ReleaseApplLockResult]{inTx: told, write: func(ctx context.Context, d *Driver) (db.ReleaseApplLockResult, error) {
			return d.release(ctx, params, object, told)
		}}
	})
}

// release ends a grant, also one that has expired.
func (d *Driver) release(
	ctx context.Context, params db.ReleaseApplLockParams, object object, told bool,
) (db.ReleaseApplLockResult, error) {
	result := db.ReleaseApplLockResult{OkFL: db.Yes, Outcome: db.Free}
	if object.isLive() {
		result.Outcome = db.Released
	}
	changed, err := d.queries().ReleaseApplLock(ctx, queries.ReleaseApplLockParams{
		ObjectType:     object.ObjectType,
		ObjectID:       object.ObjectID,
		FromFence:      object.Fence,
		FromLockTs:     object.LockTs,
		FromExpiresTs:  object.ExpiresTs,
		FromReleasedTs: object.ReleasedTs,
		FromLive:       object.Live,
	})
	if err == nil && changed == 0 {
		err = sql.ErrNoRows
	}
	if err == nil && told {
		event := object.event(db.EventReleased, params.ActorID)
		event.Reason = params.Reason
		err = d.record(ctx, event)
	}
	return result, err
}
