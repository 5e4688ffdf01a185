package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ReleaseApplLock calls release_appl_lock_row. An unflushed release does not wait for the disk, except in a caller's transaction.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.ReleaseApplLock(
			ctx, params.Unflushed && d.tx == nil && !d.flushed, params.ObjectType, params.ObjectID,
			params.OperatorID, nullIfZero(params.Fence), nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
		)
		return db.Result{
			OkFL: row.OkFL, Outcome: row.Outcome, OldOperatorID: row.OldOperatorID, OldDepartmentID: row.OldDepartmentID,
		}, err
	})
}

// PassApplLock is [db.Passer.PassApplLock], in one statement.
func (d *Driver) PassApplLock(
	ctx context.Context, release db.ReleaseApplLockParams, next db.GetApplLockParams,
) (db.PassApplLockResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.PassApplLockRow, error) {
		return q.PassApplLock(
			ctx, release.ObjectType, release.ObjectID, release.OperatorID, release.Fence,
			nullIfZero(next.TTLSeconds), next.OperatorID, nullIfEmpty(next.DepartmentID),
		)
	})
	if err != nil || row.Released != db.Released {
		return db.PassApplLockResult{Released: row.Released}, err
	}
	return db.PassApplLockResult{
		Released: db.Released,
		Next: db.Result{
			OkFL: db.Yes, Outcome: row.Outcome, Fence: row.Fence, AcquiredTS: row.AcquiredTS, ExpiresTS: row.ExpiresTS,
			SecondsLeft: row.SecondsLeft,
		},
	}, nil
}
