package db2

import (
	"context"
	"strings"

	"github.com/applock/applock/internal/db"
)

// ApplLockHistory reads the view appl_lock_history. For an operator it reads a page by each of three indexes.
func (d *Driver) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	const view = "appl_lock_history"
	order := "event_id"
	var s selection
	s.whereText("object_type", params.ObjectType)
	s.whereText("object_id", params.ObjectID)
	if params.SinceSeconds > 0 {
		s.where("event_ts >= " + inSeconds("-", params.SinceSeconds))
	}
	switch {
	case !params.NewestFirst:
		s.where("event_id > ?", params.AfterEventID)
	case params.AfterEventID > 0:
		s.where("event_id < ?", params.AfterEventID)
	}
	if params.NewestFirst {
		order += " DESC"
	}
	if params.OperatorID != "" {
		whole := s
		s = selection{}
		var pages []string
		for _, column := range []string{"actor_id", "from_operator_id", "to_operator_id"} {
			page := selection{conditions: whole.conditions, arguments: whole.arguments}
			page.where(column+" = ?", params.OperatorID)
			pages = append(pages, "SELECT event_id FROM (SELECT event_id FROM "+d.qualify(view)+page.clause()+first(order, params.MaxRows)+") AS "+column[:1])
			s.arguments = append(s.arguments, page.arguments...)
		}
		s.conditions = []string{"event_id IN (" + strings.Join(pages, " UNION ") + ")"}
	}
	query := "SELECT " + columnsOf(view, "") + " FROM " + d.qualify(view) + s.clause() + first(order, params.MaxRows)
	return db.Rows(ctx, d.ask, query, s.arguments, func(event *db.Event) []any {
		return []any{
			&event.EventID, &event.EventTS, &event.ObjectType, &event.ObjectID, &event.Event, &event.ActorID, &event.DBUser,
			&event.Program, &event.FromOperatorID, &event.FromDepartmentID, &event.ToOperatorID, &event.ToDepartmentID,
			&event.FromFence, &event.ToFence, &event.Reason,
		}
	})
}
