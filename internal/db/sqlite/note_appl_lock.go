package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// NoteApplLock runs the statements of note_appl_lock.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.NoteApplLockResult, error) {
	return asWriter(ctx, d, func(ctx context.Context, d *Driver) (db.NoteApplLockResult, error) { return d.note(ctx, params) })
}

func (d *Driver) note(ctx context.Context, params db.NoteApplLockParams) (db.NoteApplLockResult, error) {
	for range rounds {
		inquiry, err := d.inquire(ctx, params.ObjectType, params.ObjectID)
		if err != nil {
			return db.NoteApplLockResult{}, err
		}
		if inquiry.ReturnCD == db.No {
			return db.NoteApplLockResult{ReturnCD: db.No, Outcome: db.Free}, nil
		}
		holder := inquiry.Lock
		if holder.OperatorID != params.OperatorID || params.Fence != 0 && params.Fence != holder.Fence {
			return db.NoteApplLockResult{
				ReturnCD:        db.No,
				Outcome:         db.Held,
				OldOperatorID:   holder.OperatorID,
				OldDepartmentID: holder.DepartmentID,
			}, nil
		}
		noted, err := d.queries().NoteApplLock(ctx, queries.NoteApplLockParams{
			Note:       params.Note,
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      nullIfZero(params.Fence),
		})
		if err != nil {
			return db.NoteApplLockResult{}, err
		}
		if noted > 0 {
			return db.NoteApplLockResult{ReturnCD: db.Yes, Outcome: db.Noted}, nil
		}
	}
	return db.NoteApplLockResult{}, contention("note_appl_lock", params.ObjectType, params.ObjectID)
}
