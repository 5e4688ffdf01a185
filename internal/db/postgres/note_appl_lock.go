package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// NoteApplLock calls note_appl_lock_row.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.Result, error) {
	return callOne(ctx, d, func(q *queries.Queries) (queries.NoteApplLockRow, error) {
		return q.NoteApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence), params.Note,
		)
	}, func(row queries.NoteApplLockRow) db.Result {
		return db.Result{
			OkFL:            db.Flag(row.OkFl),
			Outcome:         db.Outcome(row.Outcome),
			OldOperatorID:   row.OldOperatorID,
			OldDepartmentID: row.OldDepartmentID,
		}
	})
}
