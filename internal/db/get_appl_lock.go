package db

import "time"

// GetApplLockParams are the IN parameters of get_appl_lock. An empty DepartmentID and a zero TTLSeconds are NULL: those
// of the grant in a renewal, empty and seven days in a new grant. The names are those of the JSON by which several are handed over.
type GetApplLockParams struct {
	ObjectType   string `json:"object_type"`
	ObjectID     string `json:"object_id"`
	OperatorID   string `json:"operator_id"`
	DepartmentID string `json:"department_id,omitempty"`
	TTLSeconds   int64  `json:"ttl_seconds,omitempty"`
	// NewFL refuses what would be a renewal. Several gets at once have no such flag.
	NewFL bool `json:"-"`
}

// GetApplLockResult are the OUT parameters of get_appl_lock.
type GetApplLockResult struct {
	OkFL            Flag
	Outcome         Outcome
	OldOperatorID   string
	OldDepartmentID string
	Fence           int64
	ExpiresTS       time.Time
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up.
	SecondsLeft int64
	// Note is the holder's when Held, the operator's own when Renewed, else empty.
	Note string
}
