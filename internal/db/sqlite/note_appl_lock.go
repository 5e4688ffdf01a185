package sqlite

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// NoteApplLock reads, decides, and runs the statement of note_appl_lock.
func (d *Driver) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	return change(ctx, d, "note_appl_lock", key, func(object object) decision[db.Result] {
		switch {
		case !object.isLive():
			return refused(db.Result{OkFL: db.No, Outcome: db.Free})
		case !object.isHeldBy(params.OperatorID, params.Fence):
			return refused(refusedBy(object))
		}
		return decision[db.Result]{write: func(ctx context.Context, d *Driver) (db.Result, error) {
			return d.note(ctx, object, params.Note)
		}}
	})
}

func (d *Driver) note(ctx context.Context, object object, note string) (db.Result, error) {
	changed, err := d.queries().NoteApplLock(ctx, queries.NoteApplLockParams{
		Note:           note,
		ObjectType:     object.ObjectType,
		ObjectID:       object.ObjectID,
		FromFence:      object.Fence,
		FromLockTS:     object.LockTS,
		FromExpiresTS:  object.ExpiresTS,
		FromReleasedTS: object.ReleasedTS,
		FromLive:       object.Live,
	})
	if err == nil && changed == 0 {
		err = sql.ErrNoRows
	}
	return db.Result{OkFL: db.Yes, Outcome: db.Noted}, err
}
