package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ReleaseApplLock reads, decides, runs the statement of release_appl_lock and records its event, in one transaction.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.Result, error) {
	params.ActorID = cmp.Or(params.ActorID, params.OperatorID)
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "release_appl_lock", key, func(object object) decision[db.Result] {
		return decideRelease(params, object)
	})
}

func decideRelease(params db.ReleaseApplLockParams, object object) decision[db.Result] {
	own := object.isHeldBy(params.OperatorID, params.Fence)
	switch {
	case !object.isLive() && (!own || object.ReleasedTS != 0):
		return decision[db.Result]{answer: db.Result{OkFL: db.Yes, Outcome: db.Free}}
	case !own:
		return refused(refusedBy(object))
	}
	told := isToldOfRelease(params, object)
	return decision[db.Result]{inTx: told, write: func(ctx context.Context, d *Driver) (db.Result, error) {
		return d.release(ctx, params, object, told)
	}}
}

// isToldOfRelease reports whether the history records the release of an operator's own grant.
func isToldOfRelease(params db.ReleaseApplLockParams, object object) bool {
	return object.HistoryFL == db.Yes || object.isLive() && (params.ActorID != params.OperatorID || params.Reason != "")
}

// release ends a grant, even an expired one.
func (d *Driver) release(
	ctx context.Context, params db.ReleaseApplLockParams, object object, told bool,
) (db.Result, error) {
	result := db.Result{OkFL: db.Yes, Outcome: db.Free}
	if object.isLive() {
		result.Outcome = db.Released
	}
	changed, err := d.queries().ReleaseApplLock(ctx, queries.ReleaseApplLockParams{
		ObjectType:     object.ObjectType,
		ObjectID:       object.ObjectID,
		FromFence:      object.Fence,
		FromLockTS:     object.LockTS,
		FromExpiresTS:  object.ExpiresTS,
		FromReleasedTS: object.ReleasedTS,
		FromLive:       object.Live,
	})
	if err == nil && changed == 0 {
		err = sql.ErrNoRows
	}
	if err == nil && told {
		err = d.recordRelease(ctx, params, object)
	}
	return result, err
}

func (d *Driver) recordRelease(ctx context.Context, params db.ReleaseApplLockParams, object object) error {
	event := object.event(db.EventReleased, params.ActorID)
	event.Reason = params.Reason
	return d.record(ctx, event)
}

// PassApplLock is [db.Passer.PassApplLock]. The one statement of get_appl_lock moves a live grant, so the object is never free in between.
func (d *Driver) PassApplLock(
	ctx context.Context, release db.ReleaseApplLockParams, next db.GetApplLockParams,
) (db.PassApplLockResult, error) {
	release.ActorID = cmp.Or(release.ActorID, release.OperatorID)
	key := key{ObjectType: release.ObjectType, ObjectID: release.ObjectID}
	return change(ctx, d, "release_appl_lock", key, func(object object) decision[db.PassApplLockResult] {
		if !object.isLive() || !object.isHeldBy(release.OperatorID, release.Fence) {
			return withNothingPassed(decideRelease(release, object))
		}
		return decision[db.PassApplLockResult]{
			write: func(ctx context.Context, d *Driver) (db.PassApplLockResult, error) {
				return d.pass(ctx, release, next, object)
			},
			inTx: isToldOfRelease(release, object) || object.HistoryLevel == db.HistoryAll,
		}
	})
}

// withNothingPassed returns the release's decision for a grant that is not live.
func withNothingPassed(release decision[db.Result]) decision[db.PassApplLockResult] {
	passed := decision[db.PassApplLockResult]{
		answer: db.PassApplLockResult{Released: release.answer.Outcome}, err: release.err, inTx: release.inTx,
	}
	if release.write != nil {
		passed.write = func(ctx context.Context, d *Driver) (db.PassApplLockResult, error) {
			released, err := release.write(ctx, d)
			return db.PassApplLockResult{Released: released.Outcome}, err
		}
	}
	return passed
}

// pass ends a live grant and begins the next operator's. It records the release first, as two calls would.
func (d *Driver) pass(
	ctx context.Context, release db.ReleaseApplLockParams, next db.GetApplLockParams, object object,
) (db.PassApplLockResult, error) {
	row, err := d.grant(ctx, object, queries.GetApplLockParams{
		OperatorID: next.OperatorID, DepartmentID: next.DepartmentID, TTLSeconds: next.TTLSeconds, HistoryFL: object.newHistoryFL(),
	})
	if err == nil && isToldOfRelease(release, object) {
		err = d.recordRelease(ctx, release, object)
	}
	if err == nil && object.HistoryLevel == db.HistoryAll {
		err = d.record(ctx, acquired(next, row.Fence))
	}
	return db.PassApplLockResult{Released: db.Released, Next: granted(db.Acquired, row)}, err
}
