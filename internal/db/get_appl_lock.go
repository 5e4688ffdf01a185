package db

import "time"

// GetApplLockParams are the IN parameters of get_appl_lock.
type GetApplLockParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	TTLSeconds   int64
}

// GetApplLockResult are the OUT parameters of get_appl_lock.
type GetApplLockResult struct {
	LockFL          Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
	Fence           int64
	ExpiresTS       time.Time
}
