package db

// AnnounceApplLockWaiterParams are the IN parameters of announce_appl_lock_waiter. Zero WaitSeconds is without limit.
type AnnounceApplLockWaiterParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	WaitSeconds  int64
}
