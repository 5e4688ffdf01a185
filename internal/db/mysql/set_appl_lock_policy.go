package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.SetApplLockPolicyResult, error) {
	var result db.SetApplLockPolicyResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.SetApplLockPolicy(ctx, queries.SetApplLockPolicyParams{
			ObjectType:        params.ObjectType,
			DefaultTtlSeconds: nullIfZero(params.DefaultTTLSeconds),
			LongestTtlSeconds: nullIfZero(params.LongestTTLSeconds),
			TakeReasonFl:      string(params.TakeReasonFL),
			ActorID:           params.ActorID,
			Reason:            params.Reason,
			HistoryLevel:      string(params.HistoryLevel),
		})
	}, into(&result.OkFL, &result.Outcome))
	if err != nil {
		return db.SetApplLockPolicyResult{}, err
	}
	return result, nil
}
