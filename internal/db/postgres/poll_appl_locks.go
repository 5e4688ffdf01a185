package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// PollApplLocks calls poll_appl_locks.
func (d *Driver) PollApplLocks(ctx context.Context, params db.PollApplLocksParams) ([]db.AwaitedObject, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.PollApplLocksRow, error) {
		return q.PollApplLocks(ctx, params.ClientID, params.MaxRows)
	})
	return db.Converted(rows, err, func(row queries.PollApplLocksRow) db.AwaitedObject {
		return db.AwaitedObject{ObjectType: row.ObjectType, ObjectID: row.ObjectID, FreeInUS: row.FreeInUS, FirstFL: row.FirstFL}
	})
}
