package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// NoteApplLock calls note_appl_lock_row.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.NoteApplLockResult, error) {
	var result db.NoteApplLockResult
	err := d.call(ctx, "note_appl_lock_row", []any{params.ObjectType, params.ObjectID, params.OperatorID, nullIfZero(params.Fence), params.Note}, into(&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID))
	if err != nil {
		return db.NoteApplLockResult{}, err
	}
	return result, nil
}
