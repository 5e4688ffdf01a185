package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// TransferApplLock runs the statements of transfer_appl_lock.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	return asWriter(ctx, d, func(ctx context.Context, d *Driver) (db.TransferApplLockResult, error) {
		return d.transfer(ctx, params)
	})
}

func (d *Driver) transfer(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	for range rounds {
		inquiry, err := d.inquire(ctx, params.ObjectType, params.ObjectID)
		if err != nil {
			return db.TransferApplLockResult{}, err
		}
		if inquiry.ReturnCD == db.No {
			return db.TransferApplLockResult{ReturnCD: db.No, Outcome: db.Free}, nil
		}
		holder := inquiry.Lock
		if holder.OperatorID != params.FromOperatorID {
			return db.TransferApplLockResult{
				ReturnCD:        db.No,
				Outcome:         db.Held,
				OldOperatorID:   holder.OperatorID,
				OldDepartmentID: holder.DepartmentID,
				ExpiresTS:       holder.ExpiresTS,
				SecondsLeft:     holder.SecondsLeft,
			}, nil
		}
		row, err := d.queries().TransferApplLock(ctx, queries.TransferApplLockParams{
			ObjectType:     params.ObjectType,
			ObjectID:       params.ObjectID,
			FromOperatorID: params.FromOperatorID,
			ToOperatorID:   params.ToOperatorID,
			ToDepartmentID: params.ToDepartmentID,
			TtlSeconds:     nullIfZero(params.TTLSeconds),
		})
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return db.TransferApplLockResult{}, err
		}
		return db.TransferApplLockResult{
			ReturnCD:    db.Yes,
			Outcome:     db.Transferred,
			Fence:       row.Fence,
			ExpiresTS:   utc(row.ExpiresTs),
			SecondsLeft: row.Column3, // sqlc drops the alias of an expression in RETURNING
		}, nil
	}
	return db.TransferApplLockResult{}, contention("transfer_appl_lock", params.ObjectType, params.ObjectID)
}
