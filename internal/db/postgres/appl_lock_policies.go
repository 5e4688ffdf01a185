package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ApplLockPolicies reads the view appl_lock_policies.
func (d *Driver) ApplLockPolicies(ctx context.Context, params db.ApplLockPoliciesParams) ([]db.Policy, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.ApplLockPoliciesRow, error) {
		return q.ApplLockPolicies(ctx, nullIfEmpty(params.ObjectType))
	})
	return db.Converted(rows, err, func(row queries.ApplLockPoliciesRow) db.Policy { return db.Policy(row) })
}
