package db

func dropApplLockPolicy() Operation {
	return Operation{
		Name:       "drop_appl_lock_policy",
		Summary:    "Remove the policy of a type.",
		Parameters: []Parameter{objectType(), policyActorID(), policyReason(), okFL(), outcome()},
		Answers: []Answer{
			granted("DROPPED", "the type has no policy any more"),
			refused("NONE", "it had none"),
		},
	}
}

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
