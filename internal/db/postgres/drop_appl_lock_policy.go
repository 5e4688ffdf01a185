package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.DropApplLockPolicy(ctx, params.ObjectType, params.ActorID, params.Reason)
		return db.Result{OkFL: row.OkFL, Outcome: row.Outcome}, err
	})
}
