package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockStats reads the view appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	const view = "appl_lock_stats"
	var s selection
	s.whereText("object_type", params.ObjectType)
	s.whereTold("department_id", params.DepartmentID)
	query := "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() + " ORDER BY object_type, department_id"
	return db.Rows(ctx, d.ask, query, s.arguments, func(of *db.Stats) []any {
		return []any{
			&of.ObjectType, &of.DepartmentID, &of.Live, &of.Expired,
			&of.OldestSeconds, &of.NextExpirySeconds, &of.Waiters, &of.LongestWaitSeconds,
		}
	})
}
