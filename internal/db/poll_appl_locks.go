package db

// PollApplLocksParams are the IN parameters of poll_appl_locks.
type PollApplLocksParams struct {
	ClientID string
	MaxRows  int64
}

// AwaitedObject is one row of poll_appl_locks.
type AwaitedObject struct {
	ObjectType string
	ObjectID   string
	// FreeInUS is how many microseconds its lock has left by the database's clock: 0 is free.
	FreeInUS int64
}
