package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.SetApplLockPolicyResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.SetApplLockPolicyRow, error) {
		return q.SetApplLockPolicy(
			ctx, params.ObjectType, nullIfZero(params.DefaultTTLSeconds), nullIfZero(params.LongestTTLSeconds),
			string(params.TakeReasonFL), params.ActorID, params.Reason, string(params.HistoryLevel),
			string(params.PresenceFL), nullIfZero(params.YieldAfterSeconds),
		)
	})
	if err != nil {
		return db.SetApplLockPolicyResult{}, err
	}
	return db.SetApplLockPolicyResult{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}, nil
}
