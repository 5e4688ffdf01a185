package db

// UnawaitApplLockParams are the IN parameters of unawait_appl_lock.
type UnawaitApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	ClientID   string
}
