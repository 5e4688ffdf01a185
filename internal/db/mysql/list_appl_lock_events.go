package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// ListApplLockEvents calls list_appl_lock_events.
func (d *Driver) ListApplLockEvents(ctx context.Context, params db.ListApplLockEventsParams) ([]db.Event, error) {
	var events []db.Event
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.ListApplLockEvents(ctx, queries.ListApplLockEventsParams{
			ObjectType:   nullIfEmpty(params.ObjectType),
			ObjectID:     nullIfEmpty(params.ObjectID),
			OperatorID:   nullIfEmpty(params.OperatorID),
			SinceSeconds: nullIfZero(params.SinceSeconds),
			AfterEventID: nullIfZero(params.AfterEventID),
			MaxRows:      params.MaxRows,
		})
	}, func(row *sql.Rows) error {
		var event db.Event
		err := row.Scan(
			&event.EventID, db.UTC(&event.EventTS), &event.ObjectType, &event.ObjectID, &event.Event, &event.ActorID, &event.DBUser,
			&event.Program, &event.FromOperatorID, &event.FromDepartmentID, &event.ToOperatorID, &event.ToDepartmentID,
			&event.FromFence, &event.ToFence, &event.Reason,
		)
		events = append(events, event)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}
