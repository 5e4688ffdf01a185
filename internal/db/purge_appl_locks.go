package db

// PurgeApplLocksParams are the IN parameters of purge_appl_locks.
type PurgeApplLocksParams struct {
	OlderThanSeconds int64
	MaxRows          int64
}

// PurgeApplLocksResult are the OUT parameters of purge_appl_locks.
type PurgeApplLocksResult struct {
	Purged int64
}
