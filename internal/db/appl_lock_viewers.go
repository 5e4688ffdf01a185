package db

import "time"

// ApplLockViewersParams selects rows of the view appl_lock_viewers. An empty filter is any, and so is a nil department; the first
// page starts after the empty key.
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
	// SecondsLeft is how long it is listed unless it calls again, by the database's clock, rounded up.
	SecondsLeft int64
}
