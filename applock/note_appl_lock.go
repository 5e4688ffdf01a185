package applock

import (
	"context"
	"fmt"
	"log/slog"

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
func (c *Client) Note(ctx context.Context, key Key, note string) error {
	if err := c.operations.note(ctx, key, note); err != nil {
		return fmt.Errorf("note %s: %w", key.Object, err)
	}
	return nil
}

func noteParams(key Key, note string) (db.NoteApplLockParams, error) {
	key, err := key.trim()
	if err != nil {
		return db.NoteApplLockParams{}, err
	}
	note, err = checkOptionalText("Note", note, MaxNoteLength)
	return db.NoteApplLockParams{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		Note:       note,
	}, err
}

func (o operations) note(ctx context.Context, key Key, note string) error {
	params, err := noteParams(key, note)
	if err != nil {
		return err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.NoteApplLock(ctx, params) })
	if err != nil {
		return o.changeError(err)
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.log(ctx, "note_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", params.OperatorID),
		slog.Int64("fence", params.Fence),
		slog.String("outcome", string(result.Outcome)))
	switch {
	case result.OkFL == db.Yes:
		return nil
	case result.Outcome == db.Free:
		return ErrNotHeld
	}
	return &HeldError{Object: object, Holder: Holder{
		Owner: Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID},
	}}
}
