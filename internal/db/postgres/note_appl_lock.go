package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// NoteApplLock calls note_appl_lock_row.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.NoteApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence), params.Note,
		)
		return db.Result{
			OkFL: row.OkFL, Outcome: row.Outcome, OldOperatorID: row.OldOperatorID, OldDepartmentID: row.OldDepartmentID,
		}, err
	})
}
