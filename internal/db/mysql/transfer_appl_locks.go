package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// TransferApplLocks calls transfer_appl_locks.
func (d *Driver) TransferApplLocks(ctx context.Context, params db.TransferApplLocksParams) ([]db.ChangedLock, error) {
	return d.changeLocks(ctx, "transfer_appl_locks", []any{
		params.FromOperatorID, nullIfEmpty(params.ObjectType), params.ToOperatorID, params.ToDepartmentID,
		nullIfZero(params.TTLSeconds), nullIfEmpty(params.ActorID), nullIfEmpty(params.Reason), params.AfterType,
		params.AfterID, params.MaxRows, nullIfEmpty(string(params.DryRunFL)),
	})
}

// changeLocks makes a call that answers with changed locks.
func (d *Driver) changeLocks(ctx context.Context, routine string, args []any) ([]db.ChangedLock, error) {
	var locks []db.ChangedLock
	err := d.call(ctx, routine, args, func(row *sql.Rows) error {
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
