package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ApplLockPolicies reads the view appl_lock_policies.
func (d *Driver) ApplLockPolicies(ctx context.Context, params db.ApplLockPoliciesParams) ([]db.Policy, error) {
	const view = "appl_lock_policies"
	var s selection
	s.whereText("object_type", params.ObjectType)
	query := "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() + " ORDER BY object_type"
	type policy struct {
		db.Policy
		defaultTTL, longestTTL, yieldAfter sql.NullInt64
	}
	rows, err := db.Rows(ctx, d.ask, query, s.arguments, func(row *policy) []any {
		return []any{
			&row.ObjectType, &row.defaultTTL, &row.longestTTL, &row.TakeReasonFL, &row.HistoryLevel, &row.PresenceFL, &row.yieldAfter,
		}
	})
	return db.Converted(rows, err, func(row policy) db.Policy {
		row.DefaultTTLSeconds, row.LongestTTLSeconds, row.YieldAfterSeconds = row.defaultTTL.Int64, row.longestTTL.Int64, row.yieldAfter.Int64
		return row.Policy
	})
}
