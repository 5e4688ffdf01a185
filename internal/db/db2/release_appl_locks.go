package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ReleaseApplLocks calls release_appl_locks.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	return d.changeLocks(ctx, "release_appl_locks", []any{
		params.OperatorID,
		nullIfZero(params.ObjectType),
		nullIfZero(params.ActorID),
		nullIfZero(params.Reason),
		params.AfterType,
		params.AfterID,
		params.MaxRows,
		nullIfZero(params.DryRunFL),
	})
}
