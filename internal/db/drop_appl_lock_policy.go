package db

import "context"

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

// DropApplLockPolicy calls drop_appl_lock_policy_row.
func (r Routines) DropApplLockPolicy(ctx context.Context, params DropApplLockPolicyParams) (Result, error) {
	return Row(ctx, r, "drop_appl_lock_policy_row", []any{params.ObjectType, params.ActorID, params.Reason}, (*Result).outcome)
}
