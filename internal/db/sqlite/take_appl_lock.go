package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// TakeApplLock runs the statements of take_appl_lock, with the event in one transaction. A refusal waits for no writer.
func (d *Driver) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.TakeApplLockResult, error) {
	if params.Reason == "" {
		if err := d.reasonMayBeEmpty(ctx, params.ObjectType); err != nil {
			return db.TakeApplLockResult{}, err
		}
	}
	inquiry, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (db.InquireApplLockResult, error) {
		return d.inquire(ctx, params.ObjectType, params.ObjectID)
	})
	if err != nil {
		return db.TakeApplLockResult{}, err
	}
	if refusal, refused := refusedTake(inquiry, params); refused {
		return refusal, nil
	}
	return withEvent(ctx, d, func(ctx context.Context, d *Driver) (db.TakeApplLockResult, error) {
		return d.take(ctx, params)
	})
}

// reasonMayBeEmpty is an error unless the policy of the type says so.
func (d *Driver) reasonMayBeEmpty(ctx context.Context, objectType string) error {
	policies, err := d.ListApplLockPolicies(ctx, db.ListApplLockPoliciesParams{ObjectType: objectType})
	if err != nil {
		return err
	}
	if len(policies) == 0 || policies[0].TakeReasonFL != db.No {
		return &db.Error{Kind: db.KindInvalid, Err: errors.New("take_appl_lock: p_reason must not be empty")}
	}
	return nil
}

func (d *Driver) take(ctx context.Context, params db.TakeApplLockParams) (db.TakeApplLockResult, error) {
	for range rounds {
		inquiry, err := d.inquire(ctx, params.ObjectType, params.ObjectID)
		if err != nil {
			return db.TakeApplLockResult{}, err
		}
		if refusal, refused := refusedTake(inquiry, params); refused {
			return refusal, nil
		}
		ended := inquiry.Lock
		row, err := d.queries().TakeApplLock(ctx, queries.TakeApplLockParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: params.DepartmentID,
			FromFence:    ended.Fence,
			TtlSeconds:   nullIfZero(params.TTLSeconds),
		})
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return db.TakeApplLockResult{}, err
		}
		if err := d.recordTake(ctx, params, ended, row.Fence); err != nil {
			return db.TakeApplLockResult{}, err
		}
		result := db.TakeApplLockResult{
			ReturnCD:    db.Yes,
			Outcome:     db.Taken,
			Fence:       row.Fence,
			ExpiresTS:   utc(row.ExpiresTs),
			SecondsLeft: row.Column3, // sqlc drops the alias of an expression in RETURNING
		}
		if ended.OperatorID != params.OperatorID {
			result.OldOperatorID, result.OldDepartmentID = ended.OperatorID, ended.DepartmentID
		}
		return result, nil
	}
	return db.TakeApplLockResult{}, contention("take_appl_lock", params.ObjectType, params.ObjectID)
}

// refusedTake is the answer where another grant than the expected one holds the object, or none does.
func refusedTake(inquiry db.InquireApplLockResult, params db.TakeApplLockParams) (refusal db.TakeApplLockResult, refused bool) {
	holder := inquiry.Lock
	switch {
	case inquiry.ReturnCD == db.No:
		return db.TakeApplLockResult{ReturnCD: db.No, Outcome: db.Free}, true
	case params.ExpectedFence == 0 || holder.Fence == params.ExpectedFence:
		return db.TakeApplLockResult{}, false
	}
	return db.TakeApplLockResult{
		ReturnCD:        db.No,
		Outcome:         db.Held,
		OldOperatorID:   holder.OperatorID,
		OldDepartmentID: holder.DepartmentID,
		ExpiresTS:       holder.ExpiresTS,
		SecondsLeft:     holder.SecondsLeft,
	}, true
}

func (d *Driver) recordTake(ctx context.Context, params db.TakeApplLockParams, ended db.Lock, fence int64) error {
	return d.record(ctx, db.Event{
		ObjectType:       params.ObjectType,
		ObjectID:         params.ObjectID,
		Event:            db.EventTaken,
		ActorID:          params.OperatorID,
		FromOperatorID:   ended.OperatorID,
		FromDepartmentID: ended.DepartmentID,
		ToOperatorID:     params.OperatorID,
		ToDepartmentID:   params.DepartmentID,
		FromFence:        ended.Fence,
		ToFence:          fence,
		Reason:           params.Reason,
	})
}
