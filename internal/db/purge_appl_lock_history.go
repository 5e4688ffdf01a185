package db

// PurgeApplLockHistoryParams are the IN parameters of purge_appl_lock_history.
type PurgeApplLockHistoryParams struct {
	OlderThanSeconds int64
	MaxRows          int64
}

// PurgeApplLockHistoryResult are the OUT parameters of purge_appl_lock_history.
type PurgeApplLockHistoryResult struct {
	Purged int64
}
