package sqlite

import (
	"cmp"
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// TransferApplLock reads, decides, runs a statement of get_appl_lock and records the event, in one transaction.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "transfer_appl_lock", key, func(object object) decision[db.Result] {
		return decideMove(object, move{
			expected:   object.OperatorID == params.FromOperatorID,
			operator:   params.ToOperatorID,
			department: params.ToDepartmentID,
			ttl:        params.TTLSeconds,
			outcome:    db.Transferred,
			event:      db.EventTransferred,
			actor:      params.ActorID,
			reason:     params.Reason,
		})
	})
}

// move is a transfer, a take, or a grant to an asker.
type move struct {
	// expected is false if the object's grant is not the one to end.
	expected             bool
	operator, department string
	ttl                  int64
	// lasts is the most seconds that the new grant lasts without a renewal; 0 means its ttl.
	lasts         int64
	outcome       db.Outcome
	event         db.EventKind
	actor, reason string
}

func decideMove(object object, move move) decision[db.Result] {
	switch {
	case !object.isLive():
		return refused(db.Result{OkFL: db.No, Outcome: db.Free})
	case !move.expected:
		return refused(refusedUntil(object))
	}
	return decision[db.Result]{inTx: true, write: func(ctx context.Context, d *Driver) (db.Result, error) {
		return d.move(ctx, object, move)
	}}
}

func (d *Driver) move(ctx context.Context, object object, move move) (db.Result, error) {
	row, err := d.grant(ctx, object, queries.GetApplLockParams{
		OperatorID:   move.operator,
		DepartmentID: move.department,
		TTLSeconds:   cmp.Or(move.ttl, object.TTLSeconds),
		HistoryFL:    object.HistoryFL,
		LastsSeconds: move.lasts,
	})
	if err != nil {
		return db.Result{}, err
	}
	event := object.event(move.event, move.actor)
	event.ToOperatorID, event.ToDepartmentID, event.ToFence = move.operator, move.department, row.Fence
	event.Reason = move.reason
	return db.Result{
		OkFL:        db.Yes,
		Outcome:     move.outcome,
		Fence:       row.Fence,
		AcquiredTS:  db.AtMicro(row.AcquiredTS),
		ExpiresTS:   db.AtMicro(row.ExpiresTS),
		SecondsLeft: row.Column4,
	}, d.record(ctx, event)
}
