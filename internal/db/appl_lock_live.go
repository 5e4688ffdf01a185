package db

// ApplLockLiveParams selects rows of the view appl_lock_live. An empty filter, a nil department and zero seconds each select all.
type ApplLockLiveParams struct {
	ObjectType   string
	OperatorID   string
	DepartmentID *string
	// OlderThanSeconds selects grants that began at least that long ago, ExpiresWithinSeconds locks that end within that time.
	OlderThanSeconds     int64
	ExpiresWithinSeconds int64
	Order                LiveOrder
	// AfterType and AfterID are the last row of the page before, for LiveByKey only. Any other order has one page.
	AfterType string
	AfterID   string
	MaxRows   int64
}

// LiveOrder is an order of live locks. Equal rows are ordered by key.
type LiveOrder string

// The orders of live locks.
const (
	LiveByKey       LiveOrder = ""
	LiveEndsSoonest LiveOrder = "ends_soonest"
	LiveOldest      LiveOrder = "oldest"
	// LiveWaitedFor begins with the lock that an operator has waited for longest, and leaves out locks without waiters.
	LiveWaitedFor LiveOrder = "waited_for"
)
