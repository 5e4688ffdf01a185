package db

// ReleaseApplLockParams are the IN parameters of release_appl_lock. A zero Fence is whichever grant.
type ReleaseApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
	// ActorID and Reason are for the history; empty is NULL: the operator itself, and no reason.
	ActorID string
	Reason  string
	// Unflushed says that the caller does without waiting for the disk, where the database can do that for one call outside a
	// transaction. A crash of the server within the moment after it undoes the release, and nothing else.
	Unflushed bool
}

// ReleaseApplLockResult are the OUT parameters of release_appl_lock.
type ReleaseApplLockResult struct {
	OkFL            Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
}
