package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.DropApplLockPolicyRow, error) {
		return q.DropApplLockPolicy(ctx, params.ObjectType, params.ActorID, params.Reason)
	}, func(row queries.DropApplLockPolicyRow) db.Result {
		return db.Result{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}
	})
}
