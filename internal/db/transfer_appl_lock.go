package db

import "time"

// TransferApplLockParams are the IN parameters of transfer_appl_lock. A zero TTLSeconds is NULL: that of the grant that ends.
type TransferApplLockParams struct {
	ObjectType     string
	ObjectID       string
	FromOperatorID string
	ToOperatorID   string
	ToDepartmentID string
	TTLSeconds     int64
	// ActorID and Reason are for the history; empty is NULL: the former operator, and no reason.
	ActorID string
	Reason  string
}

// TransferApplLockResult are the OUT parameters of transfer_appl_lock. ExpiresTS is zero when the
// outcome is Free.
type TransferApplLockResult struct {
	OkFL            Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
	Fence           int64
	ExpiresTS       time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up; zero for none.
	SecondsLeft int64
}
