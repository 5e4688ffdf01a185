package db

import "time"

// ApplLockViewersParams selects rows of the view appl_lock_viewers. An empty filter and a nil department select all. The first page starts
// after the empty key.
type ApplLockViewersParams struct {
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

// Viewer is one row of appl_lock_viewers.
type Viewer struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	State        PresenceState
	SinceTS      time.Time
	// SecondsLeft is how long the row stays listed without another call, by the database's clock, rounded up.
	SecondsLeft int64
}
