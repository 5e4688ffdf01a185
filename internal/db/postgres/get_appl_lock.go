package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	row, err := call(ctx, d, (*queries.Queries).GetApplLock, queries.GetApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: nullIfEmpty(params.DepartmentID),
		TtlSeconds:   nullIfZero(params.TTLSeconds),
	})
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return db.GetApplLockResult{
		LockFL:          db.Flag(row.LockFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
		Fence:           row.Fence,
		ExpiresTS:       utc(row.ExpiresTs),
		SecondsLeft:     row.SecondsLeft,
	}, nil
}
