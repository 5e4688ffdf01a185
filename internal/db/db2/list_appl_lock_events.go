package db2

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// ListApplLockEvents calls list_appl_lock_events.
func (d *Driver) ListApplLockEvents(ctx context.Context, params db.ListApplLockEventsParams) ([]db.Event, error) {
	var events []db.Event
	err := d.call(ctx, "list_appl_lock_events",
		[]any{
			nullIfZero(params.ObjectType), nullIfZero(params.ObjectID), nullIfZero(params.OperatorID),
			nullIfZero(params.SinceSeconds), nullIfZero(params.AfterEventID), params.MaxRows,
		},
		func(row *sql.Rows) error {
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
