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
}
