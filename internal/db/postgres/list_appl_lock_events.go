package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// ListApplLockEvents calls list_appl_lock_events.
func (d *Driver) ListApplLockEvents(ctx context.Context, params db.ListApplLockEventsParams) ([]db.Event, error) {
	rows, err := call(ctx, d, (*queries.Queries).ListApplLockEvents, queries.ListApplLockEventsParams{
		ObjectType:   nullIfEmpty(params.ObjectType),
		ObjectID:     nullIfEmpty(params.ObjectID),
		OperatorID:   nullIfEmpty(params.OperatorID),
		SinceSeconds: nullIfZero(params.SinceSeconds),
		AfterEventID: nullIfZero(params.AfterEventID),
		MaxRows:      params.MaxRows,
	})
	if err != nil {
		return nil, err
	}
	events := make([]db.Event, len(rows))
	for i, row := range rows {
		events[i] = db.Event{
			EventID:          row.EventID,
			EventTS:          utc(row.EventTs),
			ObjectType:       row.ObjectType,
			ObjectID:         row.ObjectID,
			Event:            db.EventKind(row.Event),
			ActorID:          row.ActorID,
			DBUser:           row.DbUser,
			Program:          row.Program,
			FromOperatorID:   row.FromOperatorID,
			FromDepartmentID: row.FromDepartmentID,
			ToOperatorID:     row.ToOperatorID,
			ToDepartmentID:   row.ToDepartmentID,
			FromFence:        row.FromFence,
			ToFence:          row.ToFence,
			Reason:           row.Reason,
		}
	}
	return events, nil
}
