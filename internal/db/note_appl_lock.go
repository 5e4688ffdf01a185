package db

import "context"

func noteApplLock() Operation {
	return Operation{
		Name:    "note_appl_lock",
		Summary: "Leave a note on why an operator holds an object, for everybody to read.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_fence", In, Number, "the grant to note it on, 1 or greater; NULL = any grant"},
			{"p_note", In, Text, "the note, up to 255 characters; NULL = empty, which removes it"},
			okFL(), outcome(), oldOperatorID(), oldDepartmentID(),
		},
		Answers: []Answer{
			granted("NOTED", "the operator holds it; the note lasts as long as the grant, through renewals"),
			refused("FREE", "nobody holds it"),
			refused("HELD", "another operator, or another grant than p_fence, holds it"),
		},
	}
}

// NoteApplLockParams are the IN parameters of note_appl_lock. A zero Fence is any grant of the operator.
type NoteApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
	Note       string
}

// NoteApplLock calls note_appl_lock_row.
func (r Routines) NoteApplLock(ctx context.Context, params NoteApplLockParams) (Result, error) {
	return Row(ctx, r, "note_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, orNull(params.Fence), params.Note,
	}, (*Result).holder)
}
