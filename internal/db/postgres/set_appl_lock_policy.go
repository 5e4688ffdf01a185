package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.SetApplLockPolicyRow, error) {
		return q.SetApplLockPolicy(
			ctx, params.ObjectType, nullIfZero(params.DefaultTTLSeconds), nullIfZero(params.LongestTTLSeconds),
			string(params.TakeReasonFL), params.ActorID, params.Reason, string(params.HistoryLevel),
			string(params.PresenceFL), nullIfZero(params.YieldAfterSeconds),
		)
	}, func(row queries.SetApplLockPolicyRow) db.Result {
		return db.Result{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}
	})
}
