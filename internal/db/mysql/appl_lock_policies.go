package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockPolicies reads appl_lock_policies.
func (d *Driver) ApplLockPolicies(ctx context.Context, params db.ApplLockPoliciesParams) ([]db.Policy, error) {
	var policies []db.Policy
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ApplLockPolicies(ctx, queries.ApplLockPoliciesParams{
			ObjectType: nullIfEmpty(params.ObjectType),
		})
	}, func(row *sql.Rows) error {
		var policy db.Policy
		var defaultTTL, longestTTL sql.NullInt64
		err := row.Scan(&policy.ObjectType, &defaultTTL, &longestTTL, &policy.TakeReasonFL, &policy.HistoryLevel)
		policy.DefaultTTLSeconds, policy.LongestTTLSeconds = defaultTTL.Int64, longestTTL.Int64
		policies = append(policies, policy)
		return err
	})
	if err != nil {
		return nil, err
	}
	return policies, nil
}
