package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// ApplLockLive reads the view appl_lock_live.
func (d *Driver) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	const view = "appl_lock_live"
	var s selection
	s.whereText("l.object_type", params.ObjectType)
	s.whereText("l.operator_id", params.OperatorID)
	s.whereTold("l.department_id", params.DepartmentID)
	if params.OlderThanSeconds > 0 {
		s.where("l.acquired_ts <= " + inSeconds("-", params.OlderThanSeconds))
	}
	if params.ExpiresWithinSeconds > 0 {
		s.where("l.expires_ts <= " + inSeconds("+", params.ExpiresWithinSeconds))
	}
	from, order := d.qualify(view)+" AS l", "l.object_type, l.object_id"
	switch params.Order {
	case db.LiveEndsSoonest:
		order = "l.expires_ts, " + order
	case db.LiveOldest:
		order = "l.acquired_ts, " + order
	case db.LiveWaitedFor:
		from += " INNER JOIN (SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts FROM " + d.qualify("appl_lock_waiting") +
			" AS w GROUP BY w.object_type, w.object_id) AS w ON w.object_type = l.object_type AND w.object_id = l.object_id"
		order = "w.since_ts, " + order
	case db.LiveByKey:
		s.where("l.object_type >= ? AND (l.object_type > ? OR l.object_id > ?)", params.AfterType, params.AfterType, params.AfterID)
	}
	query := "SELECT " + columnsOf(view, "l.") + " FROM " + from + s.clause() + first(order, params.MaxRows)
	return db.Rows(ctx, d.ask, query, s.arguments, func(lock *db.Lock) []any {
		return []any{
			&lock.ObjectType, &lock.ObjectID, &lock.OperatorID, &lock.DepartmentID, &lock.Fence,
			&lock.AcquiredTS, &lock.LockTS, &lock.ExpiresTS, &lock.SecondsLeft, &lock.TTLSeconds, &lock.Note,
		}
	})
}
