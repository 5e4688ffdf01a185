package sqlite

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// NoteApplLock reads, decides, and runs the statement of note_appl_lock.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.NoteApplLockResult, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "note_appl_lock", key, func(object object) decision[db.NoteApplLockResult] {
		switch {
		case !object.isLive():
			return decision[db.NoteApplLockResult]{answer: db.NoteApplLockResult{OkFL: db.No, Outcome: db.Free}}
		case !object.isHeldBy(params.OperatorID, params.Fence):
			return decision[db.NoteApplLockResult]{answer: db.NoteApplLockResult{
				OkFL:            db.No,
				Outcome:         db.Held,
				OldOperatorID:   object.OperatorID,
				OldDepartmentID: object.DepartmentID,
			}}
		}
		return decision[db.NoteApplLockResult]{write: func(ctx context.Context, d *Driver) (db.NoteApplLockResult, error) {
			return d.note(ctx, object, params.Note)
		}}
	})
}

func (d *Driver) note(ctx context.Context, object object, note string) (db.NoteApplLockResult, error) {
	changed, err := d.queries().NoteApplLock(ctx, queries.NoteApplLockParams{
		Note:           note,
		ObjectType:     object.ObjectType,
		ObjectID:       object.ObjectID,
		FromFence:      object.Fence,
		FromLockTs:     object.LockTs,
		FromExpiresTs:  object.ExpiresTs,
		FromReleasedTs: object.ReleasedTs,
		FromLive:       object.Live,
	})
	if err == nil && changed == 0 {
		err = sql.ErrNoRows
	}
	return db.NoteApplLockResult{OkFL: db.Yes, Outcome: db.Noted}, err
}
