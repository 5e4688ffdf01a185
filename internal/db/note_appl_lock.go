package db

// NoteApplLockParams are the IN parameters of note_appl_lock. A zero Fence is whichever grant.
type NoteApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
	Note       string
}

// NoteApplLockResult are the OUT parameters of note_appl_lock.
type NoteApplLockResult struct {
	OkFL            Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
}
