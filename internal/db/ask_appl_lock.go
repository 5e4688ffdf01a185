package db

import "context"

func askApplLock() Operation {
	return Operation{
		Name:    "ask_appl_lock",
		Summary: "Ask an object's holder for it, with a message, or keep the request listed.",
		Parameters: []Parameter{
			objectType(), objectID(),
			{"p_operator_id", In, Text, "who asks, 1 to 255 characters"},
			{"p_department_id", In, Text, "that operator's department, up to 64 characters; NULL = empty"},
			clientID(),
			{"p_message", In, Text, "the message to the holder, up to 255 characters; NULL = empty"},
			{"p_wait_seconds", In, Number, "seconds until it gives up, 0 to 315360000; 0 withdraws the request; NULL = never"},
			okFL(), outcome(),
			{"p_old_operator_id", Out, Text, "who holds it, when `ASKED`; who held it, when `GIVEN`; else empty"},
			{"p_old_department_id", Out, Text, "that operator's department; else empty"},
			{"p_fence", Out, Number, "fencing token of the new grant; 0 unless `GIVEN`"},
			acquiredTS(),
			{"p_expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE` or `WITHDRAWN`"},
			secondsLeft(),
		},
		Answers: []Answer{
			granted("ASKED", "the request is listed for 60 s, or until it gives up; each call keeps it listed, since the first one"),
			granted("GIVEN", "the holder left the request unanswered for as long as the type's policy allows; p_operator_id holds it now, for 60 s; its next get renews it for its ttl"),
			granted("WITHDRAWN", "p_wait_seconds was 0: the request is withdrawn"),
			refused("FREE", "nobody holds it; get_appl_lock gets it"),
			refused("OWN", "p_operator_id holds it itself"),
			remark("a request is a courtesy: it reserves nothing, and waiting programs ignore it"),
		},
	}
}

// AskApplLockParams are the IN parameters of ask_appl_lock. A nil WaitSeconds means no limit, and zero withdraws the request.
type AskApplLockParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	Message      string
	WaitSeconds  *int64
}

// AskApplLock calls ask_appl_lock_row.
func (r Routines) AskApplLock(ctx context.Context, params AskApplLockParams) (Result, error) {
	var wait any // zero is not NULL
	if params.WaitSeconds != nil {
		wait = *params.WaitSeconds
	}
	return Row(ctx, r, "ask_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, params.Message, wait,
	}, (*Result).grant)
}
