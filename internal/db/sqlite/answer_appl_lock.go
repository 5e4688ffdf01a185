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
func (d *Driver) AnswerApplLock(ctx context.Context, params db.AnswerApplLockParams) (db.AnswerApplLockResult, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "answer_appl_lock", key, func(object object) decision[db.AnswerApplLockResult] {
		switch {
		case !object.isLive():
			return decision[db.AnswerApplLockResult]{answer: db.AnswerApplLockResult{OkFL: db.No, Outcome: db.Free}}
		case !object.isHeldBy(params.OperatorID, params.Fence):
			return decision[db.AnswerApplLockResult]{answer: db.AnswerApplLockResult{
				OkFL:            db.No,
				Outcome:         db.Held,
				OldOperatorID:   object.OperatorID,
				OldDepartmentID: object.DepartmentID,
				ExpiresTS:       utc(object.ExpiresTs),
				SecondsLeft:     object.SecondsLeft,
			}}
		case params.Answer == answerGive:
			return decision[db.AnswerApplLockResult]{inTx: true, write: func(ctx context.Context, d *Driver) (db.AnswerApplLockResult, error) {
				return d.give(ctx, params, object)
			}}
		}
		return decision[db.AnswerApplLockResult]{write: func(ctx context.Context, d *Driver) (db.AnswerApplLockResult, error) {
			return d.tell(ctx, params, object)
		}}
	})
}

// give moves the grant to the asker, if it still asks.
func (d *Driver) give(ctx context.Context, params db.AnswerApplLockParams, object object) (db.AnswerApplLockResult, error) {
	department, err := d.queries().ApplLockAskerDepartment(ctx, queries.ApplLockAskerDepartmentParams{
		ObjectType: params.ObjectType, ObjectID: params.ObjectID, AskerID: params.AskerID, ClientID: nullIfEmpty(params.ClientID),
	})
	if errors.Is(err, sql.ErrNoRows) {
		return db.AnswerApplLockResult{OkFL: db.No, Outcome: db.Gone}, nil
	}
	if err != nil {
		return db.AnswerApplLockResult{}, err
	}
	moved, err := d.fulfil(ctx, object, move{
		operator:   params.AskerID,
		department: department,
		outcome:    db.Given,
		event:      db.EventGiven,
		actor:      params.OperatorID,
		reason:     params.Reason,
	})
	return db.AnswerApplLockResult{OkFL: moved.OkFL, Outcome: moved.Outcome, ExpiresTS: moved.ExpiresTS, SecondsLeft: moved.SecondsLeft}, err
}

// tell stores the answer for the asker.
func (d *Driver) tell(ctx context.Context, params db.AnswerApplLockParams, object object) (db.AnswerApplLockResult, error) {
	told, err := d.queries().AnswerApplLock(ctx, queries.AnswerApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      params.Fence,
		AskerID:    params.AskerID,
		ClientID:   nullIfEmpty(params.ClientID),
		Answer:     params.Answer,
		Reason:     params.Reason,
	})
	if err != nil || told == 0 {
		return db.AnswerApplLockResult{OkFL: db.No, Outcome: db.Gone}, err
	}
	return db.AnswerApplLockResult{
		OkFL: db.Yes, Outcome: db.Told, ExpiresTS: utc(object.ExpiresTs), SecondsLeft: object.SecondsLeft,
	}, nil
}
