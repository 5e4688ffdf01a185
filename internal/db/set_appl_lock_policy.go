package db

import "context"

func setApplLockPolicy() Operation {
	return Operation{
		Name:    "set_appl_lock_policy",
		Summary: "Set a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.",
		Parameters: []Parameter{
			objectType(),
			{"p_default_ttl_seconds", In, Number, "ttl of a new grant whose caller names none, 1 to 315360000; NULL = 604800 (7 days)"},
			{"p_longest_ttl_seconds", In, Number, "limit of every ttl, 1 to 315360000; NULL = 315360000 (10 years)"},
			{"p_take_reason_fl", In, Text, "`Y`: taking a lock from another operator needs a reason; `N`: it does not; NULL = `Y`"},
			policyActorID(), policyReason(),
			{"p_history_level", In, Text, "what the history records: `CHANGES`, or `ALL`: each get, renewal, refusal and release, too; NULL = `CHANGES`"},
			{"p_presence_fl", In, Text, "`Y`: see_appl_lock records and shows who looks at an object; `N`: it does not; NULL = `Y`"},
			{"p_yield_after_seconds", In, Number, "how long a holder may leave a request unanswered, 60 to 315360000; NULL = for ever"},
			okFL(), outcome(),
		},
		Answers: []Answer{granted("SET", "this policy replaces the type's former one; a grant keeps its end until it is renewed or transferred")},
	}
}

// SetApplLockPolicyParams are the IN parameters of set_appl_lock_policy. A zero number is none.
type SetApplLockPolicyParams struct {
	ObjectType        string
	DefaultTTLSeconds int64
	LongestTTLSeconds int64
	TakeReasonFL      Flag
	ActorID           string
	Reason            string
	HistoryLevel      HistoryLevel
	PresenceFL        Flag
	YieldAfterSeconds int64
}

// SetApplLockPolicy calls set_appl_lock_policy_row.
func (r Routines) SetApplLockPolicy(ctx context.Context, params SetApplLockPolicyParams) (Result, error) {
	return Row(ctx, r, "set_appl_lock_policy_row", []any{
		params.ObjectType, orNull(params.DefaultTTLSeconds), orNull(params.LongestTTLSeconds), params.TakeReasonFL,
		params.ActorID, params.Reason, params.HistoryLevel, params.PresenceFL, orNull(params.YieldAfterSeconds),
	}, (*Result).outcome)
}
