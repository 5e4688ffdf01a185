package db

import "time"

// GetApplLockParams are the IN parameters of get_appl_lock. An empty DepartmentID and a zero TTLSeconds are NULL: those
// of the grant in a renewal, empty and seven days in a new grant.
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
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up.
	SecondsLeft int64
}
