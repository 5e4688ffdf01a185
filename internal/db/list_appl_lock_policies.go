package db

// ListApplLockPoliciesParams are the IN parameters of list_appl_lock_policies. An empty type is any.
type ListApplLockPoliciesParams struct {
	ObjectType string
}

// Policy is one row of appl_lock_policy. A zero number is none.
type Policy struct {
	ObjectType        string
	DefaultTTLSeconds int64
	LongestTTLSeconds int64
	TakeReasonFL      Flag
	HistoryLevel      HistoryLevel
}

// HistoryLevel is what the history is told of locks on objects of a type.
type HistoryLevel string

// The levels of the history.
const (
	HistoryChanges HistoryLevel = "CHANGES"
	HistoryAll     HistoryLevel = "ALL"
)
