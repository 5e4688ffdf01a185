package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.DropApplLockPolicyResult, error) {
	var result db.DropApplLockPolicyResult
	err := d.call(ctx, "drop_appl_lock_policy_row", []any{params.ObjectType, params.ActorID, params.Reason}, into(&result.OkFL, &result.Outcome))
	if err != nil {
		return db.DropApplLockPolicyResult{}, err
	}
	return result, nil
}
