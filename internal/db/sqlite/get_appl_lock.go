package sqlite

import (
	"cmp"
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// GetApplLock reads, decides, and runs a statement of get_appl_lock, with what the history is told in one transaction.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "get_appl_lock", key, func(object object) decision[db.GetApplLockResult] {
		if object.isLive() && (params.NewFL || object.OperatorID != params.OperatorID) {
			return refusedGet(params, object)
		}
		return decision[db.GetApplLockResult]{
			write: func(ctx context.Context, d *Driver) (db.GetApplLockResult, error) { return d.get(ctx, params, object) },
			inTx:  toldOfGet(params, object) != "",
		}
	})
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

// refusedGet is the refusal, of which the history is told if the holder's policy says so.
func refusedGet(params db.GetApplLockParams, holder object) decision[db.GetApplLockResult] {
	refusal := db.GetApplLockResult{
		OkFL:            db.No,
		Outcome:         db.Held,
		OldOperatorID:   holder.OperatorID,
		OldDepartmentID: holder.DepartmentID,
		ExpiresTS:       utc(holder.ExpiresTs),
		SecondsLeft:     holder.SecondsLeft,
		Note:            holder.Note,
	}
	if holder.HistoryFl != string(db.Yes) {
		return decision[db.GetApplLockResult]{answer: refusal}
	}
	return decision[db.GetApplLockResult]{write: func(ctx context.Context, d *Driver) (db.GetApplLockResult, error) {
		event := holder.event(db.EventRefused, params.OperatorID)
		event.ToOperatorID, event.ToDepartmentID, event.ToFence = holder.OperatorID, holder.DepartmentID, holder.Fence
		return refusal, d.record(ctx, event)
	}}
}

// toldOfGet returns what the history is told of a get that is granted; empty for nothing.
func toldOfGet(params db.GetApplLockParams, object object) db.EventKind {
	expired := object.Fence != 0 && !object.isLive() && object.ReleasedTs == 0
	switch {
	case expired && object.OperatorID != params.OperatorID:
		return db.EventOvertaken
	case object.HistoryLevel != string(db.HistoryAll):
		return ""
	case object.isLive():
		return db.EventRenewed
	}
	return db.EventAcquired
}

// get renews the operator's live lock, or begins a new grant.
func (d *Driver) get(ctx context.Context, params db.GetApplLockParams, object object) (db.GetApplLockResult, error) {
	grant := grant{
		operator: params.OperatorID, department: params.DepartmentID, ttl: params.TTLSeconds, renews: object.isLive(), history: db.No,
	}
	result := db.GetApplLockResult{OkFL: db.Yes, Outcome: db.Acquired}
	told := toldOfGet(params, object)
	event := object.event(told, params.OperatorID)
	if grant.renews {
		result.Outcome = db.Renewed
		grant.department = cmp.Or(grant.department, object.DepartmentID)
		grant.ttl = cmp.Or(grant.ttl, object.TtlSeconds)
		event.FromDepartmentID = grant.department
	} else if told == db.EventAcquired {
		event.FromOperatorID, event.FromDepartmentID, event.FromFence = "", "", 0
	}
	if object.HistoryLevel == string(db.HistoryAll) {
		grant.history = db.Yes
	}
	row, err := d.grant(ctx, object, grant)
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	result.Fence, result.ExpiresTS, result.SecondsLeft, result.Note = row.Fence, utc(row.ExpiresTs), row.Column3, row.Note
	if told != "" {
		event.ToOperatorID, event.ToDepartmentID, event.ToFence = grant.operator, grant.department, row.Fence
		err = d.record(ctx, event)
	}
	return result, err
}

// grant is what the row of an object says next.
type grant struct {
	operator, department string
	// ttl is in seconds, zero is the policy's. It is cut to the policy's longest.
	ttl     int64
	renews  bool
	history db.Flag
}

// grant changes what was read, or returns sql.ErrNoRows. sqlc calls seconds_left Column3.
func (d *Driver) grant(ctx context.Context, object object, grant grant) (queries.GetApplLockRow, error) {
	ttl := min(cmp.Or(grant.ttl, object.DefaultTtlSeconds), object.LongestTtlSeconds)
	if object.Fence == 0 {
		row, err := d.queries().GetApplLockNew(ctx, queries.GetApplLockNewParams{
			ObjectType:   object.ObjectType,
			ObjectID:     object.ObjectID,
			OperatorID:   grant.operator,
			DepartmentID: grant.department,
			TtlSeconds:   ttl,
			HistoryFl:    string(grant.history),
		})
		return queries.GetApplLockRow(row), err
	}
	params := queries.GetApplLockParams{
		OperatorID:     grant.operator,
		DepartmentID:   grant.department,
		TtlSeconds:     ttl,
		HistoryFl:      string(grant.history),
		ObjectType:     object.ObjectType,
		ObjectID:       object.ObjectID,
		FromFence:      object.Fence,
		FromLockTs:     object.LockTs,
		FromExpiresTs:  object.ExpiresTs,
		FromReleasedTs: object.ReleasedTs,
		FromLive:       object.Live,
	}
	if grant.renews {
		params.Renews = 1
	}
	return d.queries().GetApplLock(ctx, params)
}
