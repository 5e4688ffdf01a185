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
	return rowsOf(ctx, d, query, s.arguments, func(row *sql.Rows, policy *db.Policy) error {
		var defaultTTL, longestTTL, yieldAfter sql.NullInt64
		err := row.Scan(&policy.ObjectType, &defaultTTL, &longestTTL, &policy.TakeReasonFL, &policy.HistoryLevel, &policy.PresenceFL, &yieldAfter)
		policy.DefaultTTLSeconds, policy.LongestTTLSeconds = defaultTTL.Int64, longestTTL.Int64
		policy.YieldAfterSeconds = yieldAfter.Int64
		return err
	})
}
