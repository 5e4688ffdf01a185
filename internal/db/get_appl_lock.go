package db

import "context"

func getApplLock() Operation {
	return Operation{
		Name:    "get_appl_lock",
		Summary: "Take or renew the lock on an object for one operator until it expires.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = as it is in a renewal, empty in a new grant"},
			{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant in a renewal, in a new grant those of the type's policy, else 604800 (7 days)"},
			{"p_new_fl", In, Text, "`Y` = refuse the operator's own live grant as well, with its own name; `N`, empty or NULL = renew it"},
			{"p_ok_fl", Out, FlagType, "`Y` or `N`"},
			outcome(), oldOperatorID(), oldDepartmentID(),
			{"p_fence", Out, Number, "fencing token of the grant; 0 when `HELD`"},
			acquiredTS(),
			{"p_expires_ts", Out, Timestamp, "when the lock ends: the caller's, or the holder's when `HELD`"},
			secondsLeft(),
			{"p_note", Out, Text, "the holder's note when `HELD`, the caller's own when `RENEWED`; else empty"},
		},
		Answers: []Answer{
			granted("ACQUIRED", "it was free or expired; a new grant"),
			granted("RENEWED", "this operator held it; the same grant, and the ttl counts from now"),
			refused("HELD", "another operator holds it, or this one when p_new_fl is `Y`"),
		},
	}
}

// GetApplLockParams are the IN parameters of get_appl_lock. An empty DepartmentID and a zero TTLSeconds are NULL: a renewal keeps the
// grant's own, and a new grant has no department and seven days. The JSON names are for a list of gets.
type GetApplLockParams struct {
	ObjectType   string `json:"object_type"`
	ObjectID     string `json:"object_id"`
	OperatorID   string `json:"operator_id"`
	DepartmentID string `json:"department_id,omitempty"`
	TTLSeconds   int64  `json:"ttl_seconds,omitempty"`
	// NewFL refuses a renewal. A list of gets has no such flag.
	NewFL bool `json:"-"`
}

// GetApplLock calls get_appl_lock_row.
func (r Routines) GetApplLock(ctx context.Context, params GetApplLockParams) (Result, error) {
	return Row(ctx, r, "get_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, orNull(params.DepartmentID), orNull(params.TTLSeconds),
		yesOrNull(params.NewFL),
	}, (*Result).Get)
}
