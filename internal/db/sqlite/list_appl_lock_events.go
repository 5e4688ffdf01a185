package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// ListApplLockEvents runs one of the statements of list_appl_lock_events.
func (d *Driver) ListApplLockEvents(ctx context.Context, params db.ListApplLockEventsParams) ([]db.Event, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.ApplLockEvent, error) {
		if params.ObjectType != "" && params.ObjectID != "" {
			return d.queries().ListApplLockEventsOfObject(ctx, queries.ListApplLockEventsOfObjectParams{
				ObjectType:   params.ObjectType,
				ObjectID:     params.ObjectID,
				OperatorID:   nullIfEmpty(params.OperatorID),
				SinceSeconds: nullIfZero(params.SinceSeconds),
				AfterEventID: params.AfterEventID,
				MaxRows:      params.MaxRows,
			})
		}
		return d.queries().ListApplLockEvents(ctx, queries.ListApplLockEventsParams{
			ObjectType:   nullIfEmpty(params.ObjectType),
			ObjectID:     nullIfEmpty(params.ObjectID),
			OperatorID:   nullIfEmpty(params.OperatorID),
			SinceSeconds: nullIfZero(params.SinceSeconds),
			AfterEventID: params.AfterEventID,
			MaxRows:      params.MaxRows,
		})
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
