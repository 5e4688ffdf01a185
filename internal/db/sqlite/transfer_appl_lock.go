package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// TransferApplLock runs the statements of transfer_appl_lock, with the event in one transaction. A refusal waits for no writer.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	inquiry, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (db.InquireApplLockResult, error) {
		return d.inquire(ctx, params.ObjectType, params.ObjectID)
	})
	if err != nil {
		return db.TransferApplLockResult{}, err
	}
	if refusal, refused := refusedTransfer(inquiry, params); refused {
		return refusal, nil
	}
	return withEvent(ctx, d, func(ctx context.Context, d *Driver) (db.TransferApplLockResult, error) {
		return d.transfer(ctx, params)
	})
}

func (d *Driver) transfer(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	for range rounds {
		inquiry, err := d.inquire(ctx, params.ObjectType, params.ObjectID)
		if err != nil {
			return db.TransferApplLockResult{}, err
		}
		if refusal, refused := refusedTransfer(inquiry, params); refused {
			return refusal, nil
		}
		holder := inquiry.Lock
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
		if err := d.recordTransfer(ctx, params, holder, row.Fence); err != nil {
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

// refusedTransfer is the answer where somebody else holds the object, or nobody does.
func refusedTransfer(inquiry db.InquireApplLockResult, params db.TransferApplLockParams) (refusal db.TransferApplLockResult, refused bool) {
	holder := inquiry.Lock
	switch {
	case inquiry.ReturnCD == db.No:
		return db.TransferApplLockResult{ReturnCD: db.No, Outcome: db.Free}, true
	case holder.OperatorID == params.FromOperatorID:
		return db.TransferApplLockResult{}, false
	}
	return db.TransferApplLockResult{
		ReturnCD:        db.No,
		Outcome:         db.Held,
		OldOperatorID:   holder.OperatorID,
		OldDepartmentID: holder.DepartmentID,
		ExpiresTS:       holder.ExpiresTS,
		SecondsLeft:     holder.SecondsLeft,
	}, true
}

func (d *Driver) recordTransfer(ctx context.Context, params db.TransferApplLockParams, ended db.Lock, fence int64) error {
	return d.record(ctx, db.Event{
		ObjectType:       params.ObjectType,
		ObjectID:         params.ObjectID,
		Event:            db.EventTransferred,
		ActorID:          cmp.Or(params.ActorID, params.FromOperatorID),
		FromOperatorID:   params.FromOperatorID,
		FromDepartmentID: ended.DepartmentID,
		ToOperatorID:     params.ToOperatorID,
		ToDepartmentID:   params.ToDepartmentID,
		FromFence:        ended.Fence,
		ToFence:          fence,
		Reason:           params.Reason,
	})
}
