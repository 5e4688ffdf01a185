package db

import "time"

// TakeApplLockParams are the IN parameters of take_appl_lock. A zero ExpectedFence is NULL: whichever grant; a zero TTLSeconds
// is NULL: that of the grant that ends.
type TakeApplLockParams struct {
	ObjectType    string
	ObjectID      string
	OperatorID    string
	DepartmentID  string
	Reason        string
	ExpectedFence int64
	TTLSeconds    int64
}

// TakeApplLockResult are the OUT parameters of take_appl_lock. ExpiresTS is zero when the outcome is Free.
type TakeApplLockResult struct {
	OkFL            Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
	Fence           int64
	ExpiresTS       time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up; zero for none.
	SecondsLeft int64
}
