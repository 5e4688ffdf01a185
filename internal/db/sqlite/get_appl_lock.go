package sqlite

import (
	"cmp"
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// GetApplLock reads, decides, runs a statement of get_appl_lock and records its event, in one transaction.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "get_appl_lock", key, func(object object) decision[db.Result] {
		if object.isLive() && (params.NewFL || object.OperatorID != params.OperatorID) {
			return refusedGet(params, object)
		}
		return decision[db.Result]{
			write: func(ctx context.Context, d *Driver) (db.Result, error) { return d.get(ctx, params, object) },
			inTx:  toldOfGet(params, object) != "",
		}
	})
}

// GetApplLocks runs the gets in order, in one transaction.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.Result, error) {
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) ([]db.Result, error) {
		results := make([]db.Result, len(params))
		for i := range params {
			var err error
			if results[i], err = d.GetApplLock(ctx, params[i]); err != nil {
				return nil, err
			}
		}
		return results, nil
	})
}

// refusedGet returns the refusal, and records it if the holder's policy says so.
func refusedGet(params db.GetApplLockParams, holder object) decision[db.Result] {
	refusal := refusedUntil(holder)
	refusal.Note = holder.Note
	if holder.HistoryFL != db.Yes {
		return refused(refusal)
	}
	return decision[db.Result]{write: func(ctx context.Context, d *Driver) (db.Result, error) {
		event := holder.event(db.EventRefused, params.OperatorID)
		event.ToOperatorID, event.ToDepartmentID, event.ToFence = holder.OperatorID, holder.DepartmentID, holder.Fence
		return refusal, d.record(ctx, event)
	}}
}

// toldOfGet returns the event that a granted get records; empty for none.
func toldOfGet(params db.GetApplLockParams, object object) db.EventKind {
	expired := object.Fence != 0 && !object.isLive() && object.ReleasedTS == 0
	switch {
	case expired && object.OperatorID != params.OperatorID:
		return db.EventOvertaken
	case object.HistoryLevel != db.HistoryAll:
		return ""
	case object.isLive():
		return db.EventRenewed
	}
	return db.EventAcquired
}

// get renews the operator's live lock, or begins a new grant.
func (d *Driver) get(ctx context.Context, params db.GetApplLockParams, object object) (db.Result, error) {
	grant := queries.GetApplLockParams{
		OperatorID: params.OperatorID, DepartmentID: params.DepartmentID, TTLSeconds: params.TTLSeconds, Renews: object.Live,
		HistoryFL: object.newHistoryFL(),
	}
	outcome := db.Acquired
	if object.isLive() {
		outcome = db.Renewed
		grant.DepartmentID = cmp.Or(grant.DepartmentID, object.DepartmentID)
		grant.TTLSeconds = cmp.Or(grant.TTLSeconds, object.TTLSeconds)
	}
	row, err := d.grant(ctx, object, grant)
	if err != nil {
		return db.Result{}, err
	}
	params.DepartmentID = grant.DepartmentID
	switch told := toldOfGet(params, object); told {
	case "":
	case db.EventAcquired:
		err = d.record(ctx, acquired(params, row.Fence))
	default:
		event := object.event(told, params.OperatorID)
		event.ToOperatorID, event.ToDepartmentID, event.ToFence = grant.OperatorID, grant.DepartmentID, row.Fence
		if told == db.EventRenewed {
			event.FromDepartmentID = grant.DepartmentID
		}
		err = d.record(ctx, event)
	}
	return granted(outcome, row), err
}

// granted returns the answer to a get. sqlc calls seconds_left Column4.
func granted(outcome db.Outcome, row queries.GetApplLockRow) db.Result {
	return db.Result{
		OkFL: db.Yes, Outcome: outcome, Fence: row.Fence, AcquiredTS: db.AtMicro(row.AcquiredTS), ExpiresTS: db.AtMicro(row.ExpiresTS),
		SecondsLeft: row.Column4, Note: row.Note,
	}
}

// acquired returns the event of a grant of a free object.
func acquired(params db.GetApplLockParams, fence int64) db.Event {
	return db.Event{
		ObjectType: params.ObjectType, ObjectID: params.ObjectID, Event: db.EventAcquired, ActorID: params.OperatorID,
		ToOperatorID: params.OperatorID, ToDepartmentID: params.DepartmentID, ToFence: fence,
	}
}

// grant writes a grant if the object is as it was read, or returns sql.ErrNoRows. A ttl of zero is the policy's default, and the policy's
// longest ttl is the limit.
func (d *Driver) grant(ctx context.Context, object object, grant queries.GetApplLockParams) (queries.GetApplLockRow, error) {
	grant.TTLSeconds = min(cmp.Or(grant.TTLSeconds, object.DefaultTTLSeconds), object.LongestTTLSeconds)
	if object.Fence == 0 {
		row, err := d.queries().GetApplLockNew(ctx, queries.GetApplLockNewParams{
			ObjectType:   object.ObjectType,
			ObjectID:     object.ObjectID,
			OperatorID:   grant.OperatorID,
			DepartmentID: grant.DepartmentID,
			TTLSeconds:   grant.TTLSeconds,
			HistoryFL:    grant.HistoryFL,
		})
		return queries.GetApplLockRow(row), err
	}
	grant.LastsSeconds = min(cmp.Or(grant.LastsSeconds, grant.TTLSeconds), grant.TTLSeconds)
	grant.ObjectType, grant.ObjectID = object.ObjectType, object.ObjectID
	grant.FromFence, grant.FromLockTS, grant.FromExpiresTS = object.Fence, object.LockTS, object.ExpiresTS
	grant.FromReleasedTS, grant.FromLive = object.ReleasedTS, object.Live
	return d.queries().GetApplLock(ctx, grant)
}
