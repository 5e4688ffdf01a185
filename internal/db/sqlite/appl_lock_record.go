package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// record writes an event. The driver must be in the transaction that changed the lock.
func (d *Driver) record(ctx context.Context, event db.Event) error {
	return d.queries().RecordApplLockEvent(ctx, queries.RecordApplLockEventParams{
		ObjectType:       event.ObjectType,
		ObjectID:         event.ObjectID,
		Event:            event.Event,
		ActorID:          event.ActorID,
		FromOperatorID:   event.FromOperatorID,
		FromDepartmentID: event.FromDepartmentID,
		ToOperatorID:     event.ToOperatorID,
		ToDepartmentID:   event.ToDepartmentID,
		FromFence:        event.FromFence,
		ToFence:          event.ToFence,
		Reason:           event.Reason,
	})
}

// event returns the event that ends the grant of an object, as it was read.
func (o object) event(kind db.EventKind, actor string) db.Event {
	return db.Event{
		ObjectType:       o.ObjectType,
		ObjectID:         o.ObjectID,
		Event:            kind,
		ActorID:          actor,
		FromOperatorID:   o.OperatorID,
		FromDepartmentID: o.DepartmentID,
		FromFence:        o.Fence,
	}
}
