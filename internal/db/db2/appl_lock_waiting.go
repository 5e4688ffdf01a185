package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockWaiting reads the view appl_lock_waiting.
func (d *Driver) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	query, arguments := d.selectPage("appl_lock_waiting", params)
	return db.Rows(ctx, d.ask, query, arguments, func(waiter *db.Waiter) []any {
		return []any{
			&waiter.ObjectType, &waiter.ObjectID, &waiter.OperatorID, &waiter.DepartmentID, &waiter.ClientID,
			&waiter.SinceTS, &waiter.UntilTS, &waiter.WaitedSeconds,
			&waiter.HolderID, &waiter.HolderDepartmentID, &waiter.SecondsLeft,
		}
	})
}

// selectPage returns the SELECT of a page, with its arguments, of a view with the key of waiters.
func (d *Driver) selectPage(view string, params db.ListedParams) (query string, arguments []any) {
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
