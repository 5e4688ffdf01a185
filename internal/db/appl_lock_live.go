package db

// ApplLockLiveParams selects rows of the view appl_lock_live. An empty filter is any, and so are a nil department and zero seconds.
type ApplLockLiveParams struct {
	ObjectType   string
	OperatorID   string
	DepartmentID *string
	// OlderThanSeconds selects grants that began at least so long ago, ExpiresWithinSeconds locks that end so soon.
	OlderThanSeconds     int64
	ExpiresWithinSeconds int64
	Order                LiveOrder
	// AfterType and AfterID are the last row of the page before, for LiveByKey only. Any other order has one page.
	AfterType string
	AfterID   string
	MaxRows   int64
}

// LiveOrder is an order of live locks; the key decides between equals.
type LiveOrder string

// The orders of live locks.
const (
	LiveByKey       LiveOrder = ""
	LiveEndsSoonest LiveOrder = "ends_soonest"
	LiveOldest      LiveOrder = "oldest"
	// LiveWaitedFor has the lock first for which an operator has waited longest, and no lock for which nobody waits.
	LiveWaitedFor LiveOrder = "waited_for"
)
