package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// answerGive is the answer that moves the grant. The asker only reads the others.
const answerGive = "GIVE"

// AnswerApplLock reads, decides, and runs the statements of answer_appl_lock. GIVE also runs that of get_appl_lock and records the event,
// in one transaction.
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "answer_appl_lock", key, func(object object) decision[db.Result] {
		switch {
		case !object.isLive():
			return refused(db.Result{OkFL: db.No, Outcome: db.Free})
		case !object.isHeldBy(params.OperatorID, params.Fence):
			return refused(refusedUntil(object))
		case params.Answer == answerGive:
			return decision[db.Result]{inTx: true, write: func(ctx context.Context, d *Driver) (db.Result, error) {
				return d.give(ctx, params, object)
			}}
		}
		return decision[db.Result]{write: func(ctx context.Context, d *Driver) (db.Result, error) {
			return d.tell(ctx, params, object)
		}}
	})
}

// give moves the grant to the asker, if it still asks.
func (d *Driver) give(ctx context.Context, params db.AnswerApplLockParams, object object) (db.Result, error) {
	department, err := d.queries().ApplLockAskerDepartment(ctx, queries.ApplLockAskerDepartmentParams{
		ObjectType: params.ObjectType, ObjectID: params.ObjectID, AskerID: params.AskerID, ClientID: db.NullText(params.ClientID),
	})
	if errors.Is(err, sql.ErrNoRows) {
		return db.Result{OkFL: db.No, Outcome: db.Gone}, nil
	}
	if err != nil {
		return db.Result{}, err
	}
	moved, err := d.fulfil(ctx, object, move{
		operator:   params.AskerID,
		department: department,
		outcome:    db.Given,
		event:      db.EventGiven,
		actor:      params.OperatorID,
		reason:     params.Reason,
	})
	moved.Fence = 0
	return moved, err
}

// tell stores the answer for the asker.
func (d *Driver) tell(ctx context.Context, params db.AnswerApplLockParams, object object) (db.Result, error) {
	told, err := d.queries().AnswerApplLock(ctx, queries.AnswerApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      params.Fence,
		AskerID:    params.AskerID,
		ClientID:   db.NullText(params.ClientID),
		Answer:     params.Answer,
		Reason:     params.Reason,
	})
	if err != nil || told == 0 {
		return db.Result{OkFL: db.No, Outcome: db.Gone}, err
	}
	return db.Result{
		OkFL: db.Yes, Outcome: db.Told, AcquiredTS: db.AtMicro(object.AcquiredTS), ExpiresTS: db.AtMicro(object.ExpiresTS),
		SecondsLeft: object.SecondsLeft,
	}, nil
}
