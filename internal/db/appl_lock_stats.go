package db

// ApplLockStatsParams selects rows of the view appl_lock_stats. An empty type and a nil department select all.
type ApplLockStatsParams struct {
	ObjectType   string
	DepartmentID *string
}

// Stats are the figures of one type and department. Times are whole seconds by the database's clock, 0 for none.
type Stats struct {
	ObjectType   string
	DepartmentID string
	// Live and Expired count the rows of appl_lock.
	Live    int64
	Expired int64
	// OldestSeconds is the age of the oldest live grant, rounded down.
	OldestSeconds int64
	// NextExpirySeconds is the time until the next live lock ends, rounded up.
	NextExpirySeconds int64
	// Waiters counts the waiters. LongestWaitSeconds is the longest time that one of them has waited, rounded down.
	Waiters            int64
	LongestWaitSeconds int64
}
