package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ListApplLockPolicies runs the statement of list_appl_lock_policies.
func (d *Driver) ListApplLockPolicies(ctx context.Context, params db.ListApplLockPoliciesParams) ([]db.Policy, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ListApplLockPoliciesRow, error) {
		return d.queries().ListApplLockPolicies(ctx, queries.ListApplLockPoliciesParams{ObjectType: nullIfEmpty(params.ObjectType)})
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
