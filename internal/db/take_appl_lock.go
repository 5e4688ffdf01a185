package db

import "context"

func takeApplLock() Operation {
	return Operation{
		Name:    "take_appl_lock",
		Summary: "Take a held object from its holder, for a reason.",
		Parameters: []Parameter{
			objectType(), objectID(),
			{"p_operator_id", In, Text, "who takes it, 1 to 255 characters"},
			{"p_department_id", In, Text, "that operator's department, up to 64 characters; NULL = empty"},
			{"p_reason", In, Text, "why, for the history and the former holder, 1 to 255 characters; may be empty if the type's policy allows it"},
			{"p_expected_fence", In, Number, "the grant to end, 1 or greater; NULL = any grant"},
			{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant that it ends"},
			okFL(), outcome(),
			{"p_old_operator_id", Out, Text, "who held it, when `TAKEN` from another operator; who holds it, when `HELD`; else empty"},
			{"p_old_department_id", Out, Text, "that operator's department; else empty"},
			{"p_fence", Out, Number, "fencing token of the new grant; 0 unless `TAKEN`"},
			acquiredTS(),
			{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
			secondsLeft(),
		},
		Answers: []Answer{
			granted("TAKEN", "p_operator_id holds it now; a new grant, even if p_operator_id held it before"),
			refused("HELD", "another grant than p_expected_fence holds it"),
			refused("FREE", "nobody holds it; get_appl_lock gets it"),
		},
	}
}

// TakeApplLockParams are the IN parameters of take_appl_lock. A zero ExpectedFence is NULL: any grant. A zero TTLSeconds is NULL: that of
// the grant that ends.
type TakeApplLockParams struct {
	ObjectType    string
	ObjectID      string
	OperatorID    string
	DepartmentID  string
	Reason        string
	ExpectedFence int64
	TTLSeconds    int64
}

// TakeApplLock calls take_appl_lock_row.
func (r Routines) TakeApplLock(ctx context.Context, params TakeApplLockParams) (Result, error) {
	return Row(ctx, r, "take_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.Reason,
		orNull(params.ExpectedFence), orNull(params.TTLSeconds),
	}, (*Result).grant)
}
