package db

// RetractApplLockWaiterParams are the IN parameters of retract_appl_lock_waiter.
type RetractApplLockWaiterParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	ClientID   string
}
