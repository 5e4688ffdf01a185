package applock

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// Note writes on the operator's grant why it lasts, such as "waits for documents until Friday". Inquire and List show the note to
// everybody, and so does the *HeldError of a refused Get. A note lasts as long as the grant: renewals keep it, and the next grant begins
// without one, also after a Transfer. It changes neither the end of the lock nor its fence. A note has up to MaxNoteLength characters; an
// empty note removes the former one. A key without a fence means any grant of the operator.
//
// It returns a *HeldError (ErrHeld) if another operator, or another grant than Fence, holds the object, and ErrNotHeld if nobody does. Like
// Release it waits only while another open transaction is changing this very lock. ErrOutcomeUnknown after a cancelled ctx or a broken
// connection: repeat the call.
func (c *Client) Note(ctx context.Context, key Key, note string) (err error) {
	defer begin(&err, "note %s: %w", key.Object)
	params, err := noteParams(key, note)
	if err != nil {
		return err
	}
	o, object := c.ops(), Object{Type: params.ObjectType, ID: params.ObjectID}
	result, err := change(ctx, o, db.Driver.NoteApplLock, params)
	if err != nil {
		return err
	}
	o.logObject(ctx, "note_appl_lock", object, params.OperatorID, fenceAttr(params.Fence), outcomeAttr(result.Outcome))
	switch {
	case result.OkFL == db.Yes:
		return nil
	case result.Outcome == db.Free:
		return ErrNotHeld
	}
	return heldBy(object, result)
}

func noteParams(key Key, note string) (db.NoteApplLockParams, error) {
	var c checks
	key = c.key(key.trim())
	return db.NoteApplLockParams{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		Note:       c.text(checkOptionalText("Note", note, MaxNoteLength)),
	}, c.err
}
