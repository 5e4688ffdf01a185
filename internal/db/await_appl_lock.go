package db

// AwaitApplLockParams are the IN parameters of await_appl_lock. Zero WaitSeconds is without limit.
type AwaitApplLockParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	WaitSeconds  int64
}
