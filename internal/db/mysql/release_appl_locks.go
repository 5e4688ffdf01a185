package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ReleaseApplLocks calls release_appl_locks.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	return d.changeLocks(ctx, "release_appl_locks", []any{
		params.OperatorID, nullIfEmpty(params.ObjectType), nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason),
		params.AfterType, params.AfterID, params.MaxRows, nullIfEmpty(string(params.DryRunFL)),
	})
}
