package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PollApplLocks runs the statements of poll_appl_locks.
func (d *Driver) PollApplLocks(ctx context.Context, params db.PollApplLocksParams) ([]db.AwaitedObject, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PollApplLocksRow, error) {
		due, err := d.queries().PollApplLocksDue(ctx, queries.PollApplLocksDueParams{ClientID: params.ClientID})
		if err == nil && due {
			err = d.queries().PollApplLocksKeep(ctx, queries.PollApplLocksKeepParams{ClientID: params.ClientID})
		}
		if err != nil {
			return nil, err
		}
		return d.queries().PollApplLocks(ctx, queries.PollApplLocksParams{ClientID: params.ClientID, MaxRows: params.MaxRows})
	})
	return db.Converted(rows, err, func(row queries.PollApplLocksRow) db.AwaitedObject {
		return db.AwaitedObject{ObjectType: row.ObjectType, ObjectID: row.ObjectID, FreeInUS: row.FreeInUS, FirstFL: row.FirstFL}
	})
}
