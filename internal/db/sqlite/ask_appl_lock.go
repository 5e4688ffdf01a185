package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

const (
	// firstSeconds is how long a grant lasts that moved to an asker, until he renews it.
	firstSeconds = 60
	// leaseSeconds: a shorter lock is a program's lease, and nobody there can answer a request.
	leaseSeconds = 3600
)

// AskApplLock reads, decides, and runs a statement of ask_appl_lock. Where the object is due to the asker, it also runs that of
// get_appl_lock and records the event, in one transaction.
func (d *Driver) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "ask_appl_lock", key, func(object object) decision[db.Result] {
		withdraws := params.WaitSeconds != nil && *params.WaitSeconds == 0
		if withdraws || !object.isLive() || object.OperatorID == params.OperatorID {
			return decision[db.Result]{write: func(ctx context.Context, d *Driver) (db.Result, error) {
				return nothingToAsk(object, withdraws), d.queries().WithdrawApplLockAsk(ctx, queries.WithdrawApplLockAskParams{
					ObjectType: params.ObjectType, ObjectID: params.ObjectID, OperatorID: params.OperatorID, ClientID: params.ClientID,
				})
			}}
		}
		return decision[db.Result]{
			write: func(ctx context.Context, d *Driver) (db.Result, error) { return d.ask(ctx, params, object) },
			inTx:  object.patience() > 0,
		}
	})
}

// nothingToAsk answers a call that lists no request: it withdraws one, or the object is free or the operator's own.
func nothingToAsk(object object, withdraws bool) db.Result {
	switch {
	case withdraws:
		return db.Result{OkFL: db.Yes, Outcome: db.Withdrawn}
	case object.isLive():
		return db.Result{
			OkFL: db.No, Outcome: db.Own, AcquiredTS: db.AtMicro(object.AcquiredTS), ExpiresTS: db.AtMicro(object.ExpiresTS),
			SecondsLeft: object.SecondsLeft,
		}
	}
	return db.Result{OkFL: db.No, Outcome: db.Free}
}

// patience is how many seconds the holder has to answer a request; 0 means no limit.
func (o object) patience() int64 {
	if o.TTLSeconds < leaseSeconds {
		return 0
	}
	return o.YieldAfterSeconds
}

// ask lists the request, and moves the grant if the holder's time to answer is over.
func (d *Driver) ask(ctx context.Context, params db.AskApplLockParams, object object) (db.Result, error) {
	result := refusedUntil(object)
	result.OkFL, result.Outcome = db.Yes, db.Asked
	var wait sql.NullInt64
	if params.WaitSeconds != nil {
		wait = db.NullNumber(*params.WaitSeconds)
	}
	due, err := d.queries().AskApplLock(ctx, queries.AskApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		ClientID:     params.ClientID,
		Message:      params.Message,
		WaitSeconds:  wait,
		HolderID:     object.OperatorID,
		Fence:        object.Fence,
		LockTS:       object.LockTS,
		Patience:     object.patience(),
	})
	if err != nil || due == 0 {
		return result, err
	}
	moved, err := d.fulfil(ctx, object, move{
		operator:   params.OperatorID,
		department: params.DepartmentID,
		outcome:    db.Given,
		event:      db.EventYielded,
		actor:      params.OperatorID,
		reason:     fmt.Sprintf("no answer for %d s", object.patience()),
	})
	if err != nil {
		return result, err
	}
	moved.OldOperatorID, moved.OldDepartmentID = object.OperatorID, object.DepartmentID
	return moved, nil
}

// fulfil moves the grant to an asker and marks his requests as fulfilled.
func (d *Driver) fulfil(ctx context.Context, object object, move move) (db.Result, error) {
	move.ttl, move.lasts = object.DefaultTTLSeconds, firstSeconds
	moved, err := d.move(ctx, object, move)
	if err != nil {
		return moved, err
	}
	return moved, d.queries().FulfilApplLockAsks(ctx, queries.FulfilApplLockAsksParams{
		ObjectType: object.ObjectType, ObjectID: object.ObjectID, OperatorID: move.operator,
	})
}
