package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ApplLockWaiting reads the view appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ApplLockWaitingParams) ([]db.Waiter, error) {
	query, arguments := d.selectPage("appl_lock_waiting", params)
	return rowsOf(ctx, d, query, arguments, func(row *sql.Rows, waiter *db.Waiter) error {
		return row.Scan(
			&waiter.ObjectType, &waiter.ObjectID, &waiter.OperatorID, &waiter.DepartmentID, &waiter.ClientID,
			db.UTC(&waiter.SinceTS), db.UTC(&waiter.UntilTS), &waiter.WaitedSeconds,
			&waiter.HolderID, &waiter.HolderDepartmentID, &waiter.SecondsLeft,
		)
	})
}

// selectPage returns the SELECT of a page, with its arguments, of a view with the key of waiters.
func (d *Driver) selectPage(view string, params db.ApplLockWaitingParams) (query string, arguments []any) {
	var s selection
	s.whereText("object_type", params.ObjectType)
	s.whereText("object_id", params.ObjectID)
	s.whereText("operator_id", params.OperatorID)
	s.whereTold("department_id", params.DepartmentID)
	s.where("object_type >= ? AND (object_type > ? OR object_id > ? OR object_id = ? AND (operator_id > ? OR operator_id = ? AND client_id > ?))",
		params.AfterType, params.AfterType, params.AfterID, params.AfterID, params.AfterOperatorID, params.AfterOperatorID, params.AfterClientID)
	query = "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() +
		first("object_type, object_id, operator_id, client_id", params.MaxRows)
	return query, s.arguments
}
