package db

// DropApplLockPolicyParams are the IN parameters of drop_appl_lock_policy.
type DropApplLockPolicyParams struct {
	ObjectType string
	ActorID    string
	Reason     string
}

// DropApplLockPolicyResult are the OUT parameters of drop_appl_lock_policy.
type DropApplLockPolicyResult struct {
	OkFL    Flag
	Outcome Outcome
}
