package db

// InquireApplLockParams are the IN parameters of inquire_appl_lock.
type InquireApplLockParams struct {
	ObjectType string
	ObjectID   string
}

// InquireApplLockResult are the OUT parameters of inquire_appl_lock. Lock is zero when OkFL is No.
type InquireApplLockResult struct {
	OkFL Flag
	Lock Lock
}
