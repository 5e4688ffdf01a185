package db

// ApplLockVersionResult is the answer of appl_lock_version.
type ApplLockVersionResult struct {
	Version int
}
