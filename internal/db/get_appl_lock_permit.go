package db

import "time"

// GetApplLockPermitParams are the IN parameters of get_appl_lock_permit. An empty DepartmentID and a zero TTLSeconds are
// NULL: those of the grant in a renewal, empty and seven days in a new grant.
type GetApplLockPermitParams struct {
	ObjectType   string
	ObjectID     string
	Permits      int64
	OperatorID   string
	DepartmentID string
	TTLSeconds   int64
}

// Permit is one row of get_appl_lock_permit: the slot that the operator has, or one of those that are held when all are.
type Permit struct {
	Outcome Outcome
	// SlotID is the object id of the slot.
	SlotID string
	// OperatorID, DepartmentID, Fence and ExpiresTS are zero for a slot that has become free during the call.
	OperatorID   string
	DepartmentID string
	Fence        int64
	ExpiresTS    time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up.
	SecondsLeft int64
	// Note is why the slot is held; empty if nobody has said so.
	Note string
}
