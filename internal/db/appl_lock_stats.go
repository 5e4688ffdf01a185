package db

// ApplLockStatsParams selects rows of the view appl_lock_stats. An empty type is any, and so is a nil department.
type ApplLockStatsParams struct {
	ObjectType   string
	DepartmentID *string
}

// Stats is what there is of one type and department. The seconds are whole ones by the database's clock, 0 for none.
type Stats struct {
	ObjectType   string
	DepartmentID string
	// Live and Expired count the rows of appl_lock.
	Live    int64
	Expired int64
	// OldestSeconds is the age of the oldest live grant, rounded down.
	OldestSeconds int64
	// NextExpirySeconds is when the next live lock ends, from now on, rounded up.
	NextExpirySeconds int64
	// Waiters counts those who wait; LongestWaitSeconds is for how long the first of them has, rounded down.
	Waiters            int64
	LongestWaitSeconds int64
}
