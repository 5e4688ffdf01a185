package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// GetApplLock runs the statements of get_appl_lock. A refusal by the first of them waits for no writer.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	holder, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (queries.GetApplLockHolderRow, error) {
		return d.getHolder(ctx, params)
	})
	if err == nil && holder.HistoryFl == string(db.Yes) {
		return asWriter(ctx, d, func(ctx context.Context, d *Driver) (db.GetApplLockResult, error) {
			return d.refuse(ctx, params, holder)
		})
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return refusal(holder), err
	}
	result, err := asWriter(ctx, d, func(ctx context.Context, d *Driver) (db.GetApplLockResult, error) {
		return d.takeUnlessHeld(ctx, params)
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return result, err
	}
	return withEvent(ctx, d, func(ctx context.Context, d *Driver) (db.GetApplLockResult, error) { return d.overtake(ctx, params) })
}

// GetApplLocks gets one after the other, in one transaction.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.GetApplLockResult, error) {
	var results []db.GetApplLockResult
	err := d.tx(ctx, func(d *Driver) error {
		results = make([]db.GetApplLockResult, len(params))
		for i := range params {
			var err error
			if results[i], err = d.GetApplLock(ctx, params[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// takeUnlessHeld goes on after S1 has found no holder. It returns sql.ErrNoRows for another's lock that has expired and was not
// released, and, outside a transaction, for what needs one, because the history is told of it.
func (d *Driver) takeUnlessHeld(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	result, err := d.takeOrRenew(ctx, params)
	if !errors.Is(err, sql.ErrNoRows) {
		return result, err
	}
	holder, err := d.getHolder(ctx, params)
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return d.refuse(ctx, params, holder)
}

// overtake goes on in a transaction, where nobody else changes the row: S3 and S4 unless it is not like that any more.
func (d *Driver) overtake(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	expired, err := d.queries().GetApplLockExpired(ctx, queries.GetApplLockExpiredParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
	})
	if errors.Is(err, sql.ErrNoRows) {
		result, err := d.takeUnlessHeld(ctx, params)
		if errors.Is(err, sql.ErrNoRows) { // it has expired this very moment
			err = contention("get_appl_lock", params.ObjectType, params.ObjectID)
		}
		return result, err
	}
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	row, err := d.queries().OvertakeApplLock(ctx, queries.OvertakeApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		TtlSeconds:   nullIfZero(params.TTLSeconds),
	})
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return db.GetApplLockResult{
			LockFL:      db.Yes,
			Outcome:     db.Acquired,
			Fence:       row.Fence,
			ExpiresTS:   utc(row.ExpiresTs),
			SecondsLeft: row.Column3, // sqlc drops the alias of an expression in RETURNING
		}, d.record(ctx, db.Event{
			ObjectType:       params.ObjectType,
			ObjectID:         params.ObjectID,
			Event:            db.EventOvertaken,
			ActorID:          params.OperatorID,
			FromOperatorID:   expired.OperatorID,
			FromDepartmentID: expired.DepartmentID,
			ToOperatorID:     params.OperatorID,
			ToDepartmentID:   params.DepartmentID,
			FromFence:        expired.Fence,
			ToFence:          row.Fence,
		})
}

// getHolder is S1: who holds it, or sql.ErrNoRows.
func (d *Driver) getHolder(ctx context.Context, params db.GetApplLockParams) (queries.GetApplLockHolderRow, error) {
	return d.queries().GetApplLockHolder(ctx, queries.GetApplLockHolderParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
	})
}

// refuse is the refusal, of which it tells the history if that is to be told.
func (d *Driver) refuse(ctx context.Context, params db.GetApplLockParams, holder queries.GetApplLockHolderRow) (db.GetApplLockResult, error) {
	if holder.HistoryFl != string(db.Yes) {
		return refusal(holder), nil
	}
	return refusal(holder), d.record(ctx, db.Event{
		ObjectType:       params.ObjectType,
		ObjectID:         params.ObjectID,
		Event:            db.EventRefused,
		ActorID:          params.OperatorID,
		FromOperatorID:   holder.OperatorID,
		FromDepartmentID: holder.DepartmentID,
		ToOperatorID:     holder.OperatorID,
		ToDepartmentID:   holder.DepartmentID,
		FromFence:        holder.Fence,
		ToFence:          holder.Fence,
	})
}

func refusal(holder queries.GetApplLockHolderRow) db.GetApplLockResult {
	return db.GetApplLockResult{
		LockFL:          db.No,
		Outcome:         db.Held,
		OldOperatorID:   holder.OperatorID,
		OldDepartmentID: holder.DepartmentID,
		ExpiresTS:       utc(holder.ExpiresTs),
		SecondsLeft:     holder.SecondsLeft,
		Note:            holder.Note,
	}
}

// takeOrRenew is S2: the grant, or sql.ErrNoRows.
func (d *Driver) takeOrRenew(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	row, err := d.queries().GetApplLock(ctx, queries.GetApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: nullIfEmpty(params.DepartmentID),
		TtlSeconds:   nullIfZero(params.TTLSeconds),
		InTx:         d.inTx(),
	})
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	result := db.GetApplLockResult{
		LockFL:      db.Yes,
		Outcome:     db.Outcome(row.Column1), // sqlc drops the alias of an expression in RETURNING
		Fence:       row.Fence,
		ExpiresTS:   utc(row.ExpiresTs),
		SecondsLeft: row.Column4,
		Note:        row.Note,
	}
	if row.HistoryFl == string(db.Yes) {
		err = d.recordGrant(ctx, params, row)
	}
	return result, err
}

// recordGrant tells the history of a new grant or a renewal.
func (d *Driver) recordGrant(ctx context.Context, params db.GetApplLockParams, row queries.GetApplLockRow) error {
	event := db.Event{
		ObjectType:     params.ObjectType,
		ObjectID:       params.ObjectID,
		Event:          db.EventAcquired,
		ActorID:        params.OperatorID,
		ToOperatorID:   params.OperatorID,
		ToDepartmentID: row.DepartmentID,
		ToFence:        row.Fence,
	}
	if db.Outcome(row.Column1) == db.Renewed {
		event.Event = db.EventRenewed
		event.FromOperatorID, event.FromDepartmentID, event.FromFence = event.ToOperatorID, event.ToDepartmentID, event.ToFence
	}
	return d.record(ctx, event)
}
