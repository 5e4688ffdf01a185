package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ApplLockViewers reads the view appl_lock_viewers.
func (d *Driver) ApplLockViewers(ctx context.Context, params db.ApplLockViewersParams) ([]db.Viewer, error) {
	const view = "appl_lock_viewers"
	var s selection
	s.whereText("object_type", params.ObjectType)
	s.whereText("object_id", params.ObjectID)
	s.whereText("operator_id", params.OperatorID)
	s.whereTold("department_id", params.DepartmentID)
	s.where("object_type >= ? AND (object_type > ? OR object_id > ? OR object_id = ? AND (operator_id > ? OR operator_id = ? AND client_id > ?))",
		params.AfterType, params.AfterType, params.AfterID, params.AfterID, params.AfterOperatorID, params.AfterOperatorID, params.AfterClientID)
	query := "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() +
		first("object_type, object_id, operator_id, client_id", params.MaxRows)
	return rowsOf(ctx, d, query, s.arguments, func(row *sql.Rows, viewer *db.Viewer) error {
		return row.Scan(
			&viewer.ObjectType, &viewer.ObjectID, &viewer.OperatorID, &viewer.DepartmentID, &viewer.ClientID,
			&viewer.State, db.UTC(&viewer.SinceTS), &viewer.SecondsLeft,
		)
	})
}
