package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// InboxApplLocks calls inbox_appl_locks.
func (d *Driver) InboxApplLocks(ctx context.Context, params db.InboxApplLocksParams) ([]db.Notice, error) {
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.InboxApplLocksRow, error) {
		return q.InboxApplLocks(ctx, params.OperatorID, params.Position, params.MaxRows)
	})
	return db.Converted(rows, err, func(row queries.InboxApplLocksRow) db.Notice { return db.Notice(row) })
}
