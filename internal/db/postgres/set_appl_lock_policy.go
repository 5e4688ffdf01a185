package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.SetApplLockPolicy(
			ctx, params.ObjectType, nullIfZero(params.DefaultTTLSeconds), nullIfZero(params.LongestTTLSeconds),
			params.TakeReasonFL, params.ActorID, params.Reason, params.HistoryLevel,
			params.PresenceFL, nullIfZero(params.YieldAfterSeconds),
		)
		return db.Result{OkFL: row.OkFL, Outcome: row.Outcome}, err
	})
}
