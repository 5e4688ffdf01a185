package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockViewers reads the view appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	query, arguments := d.selectPage("appl_lock_viewers", params)
	return db.Rows(ctx, d.ask, query, arguments, func(viewer *db.Viewer) []any {
		return []any{
			&viewer.ObjectType, &viewer.ObjectID, &viewer.OperatorID, &viewer.DepartmentID, &viewer.ClientID,
			&viewer.State, &viewer.SinceTS, &viewer.SecondsLeft,
		}
	})
}
