package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ListApplLockPolicies calls list_appl_lock_policies.
func (d *Driver) ListApplLockPolicies(ctx context.Context, params db.ListApplLockPoliciesParams) ([]db.Policy, error) {
	var policies []db.Policy
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ListApplLockPolicies(ctx, queries.ListApplLockPoliciesParams{
			ObjectType: nullIfEmpty(params.ObjectType),
		})
	}, func(row *sql.Rows) error {
		var policy db.Policy
		err := row.Scan(
			&policy.ObjectType, &policy.DefaultTTLSeconds, &policy.LongestTTLSeconds, &policy.TakeReasonFL, &policy.HistoryLevel,
		)
		policies = append(policies, policy)
		return err
	})
	if err != nil {
		return nil, err
	}
	return policies, nil
}
