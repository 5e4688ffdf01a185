package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.SetApplLockPolicyResult, error) {
	row, err := call(ctx, d, (*queries.Queries).SetApplLockPolicy, queries.SetApplLockPolicyParams{
		ObjectType:        params.ObjectType,
		DefaultTtlSeconds: nullIfZero(params.DefaultTTLSeconds),
		LongestTtlSeconds: nullIfZero(params.LongestTTLSeconds),
		TakeReasonFl:      string(params.TakeReasonFL),
		ActorID:           params.ActorID,
		Reason:            params.Reason,
		HistoryLevel:      string(params.HistoryLevel),
	})
	if err != nil {
		return db.SetApplLockPolicyResult{}, err
	}
	return db.SetApplLockPolicyResult{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}, nil
}
