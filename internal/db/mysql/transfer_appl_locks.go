package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// TransferApplLocks calls transfer_appl_locks.
func (d *Driver) TransferApplLocks(ctx context.Context, params db.TransferApplLocksParams) ([]db.ChangedLock, error) {
	return d.changeLocks(ctx, func(q *queries.Queries) error {
		return q.TransferApplLocks(ctx, queries.TransferApplLocksParams{
			FromOperatorID: params.FromOperatorID,
			ObjectType:     nullIfEmpty(params.ObjectType),
			ToOperatorID:   params.ToOperatorID,
			ToDepartmentID: params.ToDepartmentID,
			TtlSeconds:     nullIfZero(params.TTLSeconds),
			ActorID:        nullIfEmpty(params.ActorID),
			Reason:         nullIfEmpty(params.Reason),
			AfterType:      params.AfterType,
			AfterID:        params.AfterID,
			MaxRows:        params.MaxRows,
			DryRunFl:       nullIfEmpty(string(params.DryRunFL)),
		})
	})
}

// changeLocks makes a call whose rows are changed locks.
func (d *Driver) changeLocks(ctx context.Context, call func(*queries.Queries) error) ([]db.ChangedLock, error) {
	var locks []db.ChangedLock
	err := d.call(ctx, call, func(row *sql.Rows) error {
		var lock db.ChangedLock
		err := row.Scan(
			&lock.ObjectType, &lock.ObjectID, &lock.Outcome, &lock.OldOperatorID, &lock.OldDepartmentID, &lock.Fence,
			db.UTC(&lock.ExpiresTS), &lock.SecondsLeft,
		)
		locks = append(locks, lock)
		return err
	})
	if err != nil {
		return nil, err
	}
	return locks, nil
}
