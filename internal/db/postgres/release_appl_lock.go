package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ReleaseApplLock calls release_appl_lock_row. What need not be flushed has its own commit not wait, and never that of a
// caller's transaction.
func (d *Driver) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	row, err := call(ctx, d, (*queries.Queries).ReleaseApplLock, queries.ReleaseApplLockParams{
		Unflushed:  params.Unflushed && d.tx == nil && !d.flushed,
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      nullIfZero(params.Fence),
		ActorID:    nullIfEmpty(params.ActorID),
		Reason:     nullIfEmpty(params.Reason),
	})
	if err != nil {
		return db.ReleaseApplLockResult{}, err
	}
	return db.ReleaseApplLockResult{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
	}, nil
}
