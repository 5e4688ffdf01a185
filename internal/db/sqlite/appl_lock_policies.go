package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockPolicies runs the statement of appl_lock_policies.
func (d *Driver) ApplLockPolicies(ctx context.Context, params db.ApplLockPoliciesParams) ([]db.Policy, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockPoliciesRow, error) {
		return d.queries().ApplLockPolicies(ctx, queries.ApplLockPoliciesParams{ObjectType: db.NullText(params.ObjectType)})
	})
	return db.Converted(rows, err, func(row queries.ApplLockPoliciesRow) db.Policy { return db.Policy(row) })
}
