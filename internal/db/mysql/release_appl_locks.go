package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ReleaseApplLocks calls release_appl_locks.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	return d.changeLocks(ctx, func(q *queries.Queries) error {
		return q.ReleaseApplLocks(ctx, queries.ReleaseApplLocksParams{
			OperatorID: params.OperatorID,
			ObjectType: nullIfEmpty(params.ObjectType),
			ActorID:    nullIfEmpty(params.ActorID),
			Reason:     nullIfEmpty(params.Reason),
			AfterType:  params.AfterType,
			AfterID:    params.AfterID,
			MaxRows:    params.MaxRows,
			DryRunFl:   nullIfEmpty(string(params.DryRunFL)),
		})
	})
}
