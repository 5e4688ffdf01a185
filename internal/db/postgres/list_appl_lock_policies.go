package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ListApplLockPolicies calls list_appl_lock_policies.
func (d *Driver) ListApplLockPolicies(ctx context.Context, params db.ListApplLockPoliciesParams) ([]db.Policy, error) {
	rows, err := call(ctx, d, (*queries.Queries).ListApplLockPolicies, queries.ListApplLockPoliciesParams{
		ObjectType: nullIfEmpty(params.ObjectType),
	})
	if err != nil {
		return nil, err
	}
	policies := make([]db.Policy, len(rows))
	for i, row := range rows {
		policies[i] = db.Policy{
			ObjectType:        row.ObjectType,
			DefaultTTLSeconds: row.DefaultTtlSeconds,
			LongestTTLSeconds: row.LongestTtlSeconds,
			TakeReasonFL:      db.Flag(row.TakeReasonFl),
			HistoryLevel:      db.HistoryLevel(row.HistoryLevel),
		}
	}
	return policies, nil
}
