package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ApplLockViewers reads appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	rows, err := read(ctx, d, func(q *queries.Queries) ([]queries.Viewer, error) {
		return q.ApplLockViewers(ctx, queries.ApplLockViewersParams(page(params)))
	})
	return db.Converted(rows, err, func(row queries.Viewer) db.Viewer {
		return db.Viewer{
			ObjectType:   row.ObjectType,
			ObjectID:     row.ObjectID,
			OperatorID:   row.OperatorID,
			DepartmentID: row.DepartmentID,
			ClientID:     row.ClientID,
			State:        db.PresenceState(row.State),
			SinceTS:      row.SinceTs.Time,
			SecondsLeft:  row.SecondsLeft,
		}
	})
}
