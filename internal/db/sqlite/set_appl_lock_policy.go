package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// SetApplLockPolicy runs the statements of set_appl_lock_policy and records the event, in one transaction.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.Result, error) {
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) (db.Result, error) {
		flag := cmp.Or(params.TakeReasonFL, db.Yes)
		level := cmp.Or(params.HistoryLevel, db.HistoryChanges)
		presence := cmp.Or(params.PresenceFL, db.Yes)
		err := d.queries().SetApplLockPolicy(ctx, queries.SetApplLockPolicyParams{
			ObjectType:        params.ObjectType,
			DefaultTTLSeconds: db.NullNumber(params.DefaultTTLSeconds),
			LongestTTLSeconds: db.NullNumber(params.LongestTTLSeconds),
			TakeReasonFL:      flag,
			HistoryLevel:      level,
			PresenceFL:        presence,
			YieldAfterSeconds: db.NullNumber(params.YieldAfterSeconds),
		})
		if err != nil {
			return db.Result{}, err
		}
		told := fmt.Sprintf("default %s, longest %s, take reason %s, history %s, presence %s, yield after %s",
			orNone(params.DefaultTTLSeconds), orNone(params.LongestTTLSeconds), flag, level, presence, orNone(params.YieldAfterSeconds))
		return db.Result{OkFL: db.Yes, Outcome: db.Set},
			d.recordPolicy(ctx, params.ObjectType, params.ActorID, told, params.Reason)
	})
}

// recordPolicy records a policy's new settings and the reason.
func (d *Driver) recordPolicy(ctx context.Context, objectType, actor, told, reason string) error {
	if reason != "" {
		told += ": " + reason
	}
	return d.record(ctx, db.Event{ObjectType: objectType, Event: db.EventPolicy, ActorID: actor, Reason: told})
}

func orNone(number int64) string {
	if number == 0 {
		return "none"
	}
	return fmt.Sprint(number)
}
