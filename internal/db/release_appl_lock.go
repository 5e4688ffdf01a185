package db

// ReleaseApplLockParams are the IN parameters of release_appl_lock. A zero Fence is whichever grant.
type ReleaseApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
}

// ReleaseApplLockResult are the OUT parameters of release_appl_lock.
type ReleaseApplLockResult struct {
	ReturnCD        Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
}
