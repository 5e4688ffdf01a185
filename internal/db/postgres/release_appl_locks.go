package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ReleaseApplLocks calls release_appl_locks.
func (d *Driver) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	rows, err := call(ctx, d, (*queries.Queries).ReleaseApplLocks, queries.ReleaseApplLocksParams{
		OperatorID: params.OperatorID,
		ObjectType: nullIfEmpty(params.ObjectType),
		ActorID:    nullIfEmpty(params.ActorID),
		Reason:     nullIfEmpty(params.Reason),
		AfterType:  params.AfterType,
		AfterID:    params.AfterID,
		MaxRows:    params.MaxRows,
		DryRunFl:   nullIfEmpty(string(params.DryRunFL)),
	})
	if err != nil {
		return nil, err
	}
	locks := make([]db.ChangedLock, len(rows))
	for i, row := range rows {
		locks[i] = changedLock(queries.TransferApplLocksRow(row))
	}
	return locks, nil
}
