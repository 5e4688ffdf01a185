package db

// ApplLockPoliciesParams selects rows of the view appl_lock_policies. An empty type selects all.
type ApplLockPoliciesParams struct {
	ObjectType string
}

// Policy is one row of appl_lock_policies. A zero number means that the policy does not set it.
type Policy struct {
	ObjectType        string
	DefaultTTLSeconds int64
	LongestTTLSeconds int64
	TakeReasonFL      Flag
	HistoryLevel      HistoryLevel
	PresenceFL        Flag
	YieldAfterSeconds int64
}

// HistoryLevel is how much the history records of the locks of a type.
type HistoryLevel = string

// The levels of the history.
const (
	HistoryChanges HistoryLevel = "CHANGES"
	HistoryAll     HistoryLevel = "ALL"
)
