package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (d *Driver) SetApplLockPolicy(ctx context.Context, params db.SetApplLockPolicyParams) (db.SetApplLockPolicyResult, error) {
	var result db.SetApplLockPolicyResult
	err := d.call(ctx, "set_appl_lock_policy_row", []any{
		params.ObjectType, nullIfZero(params.DefaultTTLSeconds), nullIfZero(params.LongestTTLSeconds),
		string(params.TakeReasonFL), params.ActorID, params.Reason, string(params.HistoryLevel),
		string(params.PresenceFL), nullIfZero(params.YieldAfterSeconds),
	}, into(&result.OkFL, &result.Outcome))
	if err != nil {
		return db.SetApplLockPolicyResult{}, err
	}
	return result, nil
}
