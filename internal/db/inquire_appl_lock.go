package db

// InquireApplLockParams are the IN parameters of inquire_appl_lock.
type InquireApplLockParams struct {
	ObjectType string
	ObjectID   string
}

// InquireApplLockResult are the OUT parameters of inquire_appl_lock. Lock is zero when ReturnCD is No.
type InquireApplLockResult struct {
	ReturnCD Flag
	Lock     Lock
}
