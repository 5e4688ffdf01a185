package db

import "time"

// TransferApplLockParams are the IN parameters of transfer_appl_lock.
type TransferApplLockParams struct {
	ObjectType     string
	ObjectID       string
	FromOperatorID string
	ToOperatorID   string
	ToDepartmentID string
	TTLSeconds     int64
}

// TransferApplLockResult are the OUT parameters of transfer_appl_lock. ExpiresTS is zero when the
// outcome is Free.
type TransferApplLockResult struct {
	ReturnCD        Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
	Fence           int64
	ExpiresTS       time.Time
}
