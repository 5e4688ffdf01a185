package db

// Viewer is one row of appl_lock_viewers.
type Viewer struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	State        PresenceState
	SinceTS      Moment
	// SecondsLeft is how long the row stays listed without another call, by the database's clock, rounded up.
	SecondsLeft int64
}
