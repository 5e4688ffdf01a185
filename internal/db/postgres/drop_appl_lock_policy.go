package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.DropApplLockPolicyResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.DropApplLockPolicyRow, error) {
		return q.DropApplLockPolicy(ctx, params.ObjectType, params.ActorID, params.Reason)
	})
	if err != nil {
		return db.DropApplLockPolicyResult{}, err
	}
	return db.DropApplLockPolicyResult{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}, nil
}
