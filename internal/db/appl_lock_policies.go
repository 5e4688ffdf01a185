package db

// ApplLockPoliciesParams selects rows of the view appl_lock_policies. An empty type is any.
type ApplLockPoliciesParams struct {
	ObjectType string
}

// Policy is one row of appl_lock_policies. A zero number is none.
type Policy struct {
	ObjectType        string
	DefaultTTLSeconds int64
	LongestTTLSeconds int64
	TakeReasonFL      Flag
	HistoryLevel      HistoryLevel
	PresenceFL        Flag
	YieldAfterSeconds int64
}

// HistoryLevel is what the history is told of locks on objects of a type.
type HistoryLevel string

// The levels of the history.
const (
	HistoryChanges HistoryLevel = "CHANGES"
	HistoryAll     HistoryLevel = "ALL"
)
