package db

import "context"

func transferApplLock() Operation {
	return Operation{
		Name:    "transfer_appl_lock",
		Summary: "Hand a held object from one operator to another.",
		Parameters: []Parameter{
			objectType(), objectID(),
			{"p_from_operator_id", In, Text, "who holds it, 1 to 255 characters"},
			{"p_to_operator_id", In, Text, "who shall hold it, 1 to 255 characters, not who holds it"},
			{"p_to_department_id", In, Text, "the new holder's department, up to 64 characters; NULL = empty"},
			{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant that it ends"},
			{"p_actor_id", In, Text, "who hands it over, 1 to 255 characters; NULL = unknown: the former holder's inbox shows it in any case"},
			reason(),
			okFL(), outcome(), oldOperatorID(), oldDepartmentID(),
			{"p_fence", Out, Number, "fencing token of the new grant; 0 unless `TRANSFERRED`"},
			acquiredTS(),
			{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
			secondsLeft(),
		},
		Answers: []Answer{
			granted("TRANSFERRED", "the new operator holds it; a new grant"),
			refused("HELD", "another operator than p_from_operator_id holds it"),
			refused("FREE", "nobody holds it"),
		},
	}
}

// TransferApplLockParams are the IN parameters of transfer_appl_lock. A zero TTLSeconds is NULL: that of the grant that ends.
type TransferApplLockParams struct {
	ObjectType     string
	ObjectID       string
	FromOperatorID string
	ToOperatorID   string
	ToDepartmentID string
	TTLSeconds     int64
	// ActorID and Reason are for the history. Empty is NULL: the former operator, and no reason.
	ActorID string
	Reason  string
}

// TransferApplLock calls transfer_appl_lock_row.
func (r Routines) TransferApplLock(ctx context.Context, params TransferApplLockParams) (Result, error) {
	return Row(ctx, r, "transfer_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.FromOperatorID, params.ToOperatorID, params.ToDepartmentID,
		orNull(params.TTLSeconds), orNull(params.ActorID), orNull(params.Reason),
	}, (*Result).grant)
}
