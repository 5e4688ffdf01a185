package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// NoteRequest says why an operator holds an object.
type NoteRequest struct {
	Object   Object
	Operator string
	// Fence limits the note to this very grant, which a program should always do. Zero is whichever grant.
	Fence Fence
	// Note is what others are told: up to MaxNoteLength characters. An empty one takes the note back.
	Note string
}

// Note notes on the operator's grant why it lasts, such as "waits for documents until Friday". Inquire and List show that
// to everybody, and so does the *HeldError of a Get that is refused. A note lasts as long as the grant: renewals keep it, and
// the next grant begins without one, also that of a Transfer. It changes neither the end of the lock nor its fence.
//
// It returns a *HeldError (ErrHeld) when another operator, or another grant than Fence, holds the object, and ErrNotHeld
// when nobody does. Like Release it waits only while another open transaction is changing this very lock.
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call, which notes the same once more.
func (c *Client) Note(ctx context.Context, request NoteRequest) error {
	if err := c.operations.note(ctx, request); err != nil {
		return fmt.Errorf("note %s: %w", request.Object, err)
	}
	return nil
}

func (r NoteRequest) params() (db.NoteApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.NoteApplLockParams{}, err
	}
	operator, err := checkText("Operator", r.Operator, MaxOperatorLength)
	if err != nil {
		return db.NoteApplLockParams{}, err
	}
	if r.Fence < 0 {
		return db.NoteApplLockParams{}, &InvalidError{Argument: "Fence", Reason: "must be 1 or greater"}
	}
	note, err := checkOptionalText("Note", r.Note, MaxNoteLength)
	return db.NoteApplLockParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		Fence:      int64(r.Fence),
		Note:       note,
	}, err
}

func (o operations) note(ctx context.Context, request NoteRequest) error {
	params, err := request.params()
	if err != nil {
		return err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.NoteApplLockResult, error) { return o.driver.NoteApplLock(ctx, params) })
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
