package db

import "time"

// ListApplLockWaitersParams are the IN parameters of list_appl_lock_waiters. An empty filter is any, and so is a
// nil department; the first page starts after the empty key.
type ListApplLockWaitersParams struct {
	ObjectType      string
	ObjectID        string
	OperatorID      string
	DepartmentID    *string
	AfterType       string
	AfterID         string
	AfterOperatorID string
	AfterClientID   string
	MaxRows         int64
}

// Waiter is one live row of appl_lock_waiter.
type Waiter struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	SinceTS      time.Time
	// UntilTS is when the waiter gives up, zero for never.
	UntilTS time.Time
	// ExpiresTS is when the row ends unless the waiting program keeps it.
	ExpiresTS time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up.
	SecondsLeft int64
}
