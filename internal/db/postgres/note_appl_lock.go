package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// NoteApplLock calls note_appl_lock_row.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.NoteApplLockResult, error) {
	row, err := call(ctx, d, (*queries.Queries).NoteApplLock, queries.NoteApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      nullIfZero(params.Fence),
		Note:       params.Note,
	})
	if err != nil {
		return db.NoteApplLockResult{}, err
	}
	return db.NoteApplLockResult{
		OkFL:            db.Flag(row.OkFl),
		Outcome:         db.Outcome(row.Outcome),
		OldOperatorID:   row.OldOperatorID,
		OldDepartmentID: row.OldDepartmentID,
	}, nil
}
