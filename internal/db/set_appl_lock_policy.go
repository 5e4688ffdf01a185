package db

// SetApplLockPolicyParams are the IN parameters of set_appl_lock_policy. A zero number is none.
type SetApplLockPolicyParams struct {
	ObjectType        string
	DefaultTTLSeconds int64
	LongestTTLSeconds int64
	TakeReasonFL      Flag
	ActorID           string
	Reason            string
	HistoryLevel      HistoryLevel
}

// SetApplLockPolicyResult are the OUT parameters of set_appl_lock_policy.
type SetApplLockPolicyResult struct {
	OkFL    Flag
	Outcome Outcome
}
