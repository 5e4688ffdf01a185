package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ApplLockStats reads the view appl_lock_stats.
func (d *Driver) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	const view = "appl_lock_stats"
	var s selection
	s.whereText("object_type", params.ObjectType)
	s.whereTold("department_id", params.DepartmentID)
	query := "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() + " ORDER BY object_type, department_id"
	return rowsOf(ctx, d, query, s.arguments, func(row *sql.Rows, of *db.Stats) error {
		return row.Scan(
			&of.ObjectType, &of.DepartmentID, &of.Live, &of.Expired,
			&of.OldestSeconds, &of.NextExpirySeconds, &of.Waiters, &of.LongestWaitSeconds,
		)
	})
}
