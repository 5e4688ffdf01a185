package db

// ListedParams selects rows of the views appl_lock_waiting, appl_lock_asking and appl_lock_viewers. An empty filter and a nil department
// select all. The first page starts after the empty key.
type ListedParams struct {
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

// Waiter is one row of appl_lock_waiting.
type Waiter struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	SinceTS      Moment
	// UntilTS is when the waiter gives up, zero for never.
	UntilTS Moment
	// WaitedSeconds is how long it has waited, by the database's clock, rounded down.
	WaitedSeconds int64
	// HolderID is the operator that holds the object, and SecondsLeft the time until that lock ends; empty and 0 when it is free.
	HolderID           string
	HolderDepartmentID string
	SecondsLeft        int64
}
