package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ApplLockViewers runs the statement of appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ApplLockViewersParams) ([]db.Viewer, error) {
	// Start the page at the type or the object, not at the first row of the table.
	if params.AfterType < params.ObjectType || params.AfterType == params.ObjectType && params.AfterID < params.ObjectID {
		params.AfterType, params.AfterID, params.AfterOperatorID, params.AfterClientID = params.ObjectType, params.ObjectID, "", ""
	}
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockViewers, error) {
		return d.queries().ApplLockViewers(ctx, queries.ApplLockViewersParams{
			AfterType:       params.AfterType,
			AfterID:         params.AfterID,
			AfterOperatorID: params.AfterOperatorID,
			AfterClientID:   params.AfterClientID,
			ObjectType:      nullIfEmpty(params.ObjectType),
			ObjectID:        nullIfEmpty(params.ObjectID),
			OperatorID:      nullIfEmpty(params.OperatorID),
			DepartmentID:    nullIfNil(params.DepartmentID),
			MaxRows:         params.MaxRows,
		})
	})
	return db.Converted(rows, err, viewer)
}

func viewer(row queries.ApplLockViewers) db.Viewer {
	return db.Viewer{
		ObjectType:   row.ObjectType,
		ObjectID:     row.ObjectID,
		OperatorID:   row.OperatorID,
		DepartmentID: row.DepartmentID,
		ClientID:     row.ClientID,
		State:        db.PresenceState(row.State),
		SinceTS:      utc(row.SinceTs),
		SecondsLeft:  row.SecondsLeft,
	}
}
