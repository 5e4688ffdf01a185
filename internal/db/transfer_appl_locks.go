package db

import "time"

// TransferApplLocksParams are the IN parameters of transfer_appl_locks. An empty ObjectType is any, a zero TTLSeconds is NULL:
// that of each grant that ends. The first page starts after the empty key.
type TransferApplLocksParams struct {
	FromOperatorID string
	ObjectType     string
	ToOperatorID   string
	ToDepartmentID string
	TTLSeconds     int64
	// ActorID and Reason are for the history; empty is NULL: the former operator, and no reason.
	ActorID   string
	Reason    string
	AfterType string
	AfterID   string
	MaxRows   int64
	// DryRunFL is Yes to change nothing.
	DryRunFL Flag
}

// ChangedLock is one row of transfer_appl_locks or release_appl_locks: a lock of the page, and what became of it.
type ChangedLock struct {
	ObjectType string
	ObjectID   string
	Outcome    Outcome
	// OldOperatorID and OldDepartmentID are who holds it, when the outcome is Held.
	OldOperatorID   string
	OldDepartmentID string
	// Fence is that of the grant that the operation has begun or ended, or has left as it was; zero for Held and Free.
	Fence int64
	// ExpiresTS is zero for Released and Free.
	ExpiresTS time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up; zero for none.
	SecondsLeft int64
}
