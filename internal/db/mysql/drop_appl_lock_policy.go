package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.DropApplLockPolicyResult, error) {
	var result db.DropApplLockPolicyResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.DropApplLockPolicy(ctx, queries.DropApplLockPolicyParams{
			ObjectType: params.ObjectType,
			ActorID:    params.ActorID,
			Reason:     params.Reason,
		})
	}, into(&result.OkFL, &result.Outcome))
	if err != nil {
		return db.DropApplLockPolicyResult{}, err
	}
	return result, nil
}
