package db

import "context"

func inboxApplLocks() Operation {
	return Operation{
		Name:    "inbox_appl_locks",
		Summary: "Report what others did with an operator's locks, who waits or asks for them, and how its requests were answered.",
		Parameters: []Parameter{
			operatorID(),
			{"p_position", In, Text, "next_position of its last call that had a row; NULL = from the start"},
			{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
		},
		Columns: []Parameter{
			{"kind", Out, Text, "an event: `TAKEN`, `HANDED`, `RELEASED`, `GIVEN` or `YIELDED`; or a present state: `AWAITED`, `LATER` or `DECLINED`"},
			{"event_id", Out, Number, "number of the event; 0 for none"},
			rowType(), rowID(),
			{"other_operator_id", Out, Text, "`TAKEN`, `GIVEN`, `YIELDED`: the new holder; `HANDED`: the former holder; `RELEASED`: the actor; `AWAITED`: the waiter or asker; `LATER`, `DECLINED`: the holder that answered"},
			{"other_department_id", Out, Text, "that operator's department; empty when `RELEASED`, `LATER` or `DECLINED`"},
			{"event_ts", Out, Timestamp, "when it happened; `AWAITED`: since when the other operator waits or asks"},
			{"seconds_left", Out, Number, "whole seconds from now to the end of the operator's lock, rounded up; 0 unless `AWAITED`"},
			{"reason", Out, Text, "why; empty for none"},
			{"next_position", Out, Text, "p_position of the next call, which names the events that are told; opaque, the same in each row"},
			{"message", Out, Text, "the asker's message, `AWAITED`; else empty"},
			{"client_id", Out, Text, "the asker's program, for answer_appl_lock; empty unless it is a request"},
			{"fence", Out, Number, "the operator's grant that is asked for, for answer_appl_lock; 0 unless it is a request"},
		},
		Answers: []Answer{
			remark("`TAKEN`: another operator took the lock or handed it on; `HANDED`: another operator transferred it to this one; `RELEASED`: another operator ended it"),
			remark("`GIVEN` and `YIELDED`: the lock went to an asker, also if this operator was the actor; `LATER` and `DECLINED`: a holder answered this operator's request"),
			remark("`AWAITED`: another operator waits or asks for this one's lock; the answer `NO` removes a request from the holder's inbox"),
			remark("events come in their order, then the longest waits first; each of the two has half of p_max_rows, and what the other leaves of its half; a full page may leave out events, which the next call tells"),
		},
	}
}

// InboxApplLocksParams are the IN parameters of inbox_appl_locks. An empty Position is NULL: the operator has seen no event yet.
type InboxApplLocksParams struct {
	OperatorID string
	Position   string
	MaxRows    int64
}

// Notice is one row of inbox_appl_locks.
type Notice struct {
	// Kind is one of those of the contract. Later versions may add kinds.
	Kind              string
	EventID           int64
	ObjectType        string
	ObjectID          string
	OtherOperatorID   string
	OtherDepartmentID string
	EventTS           Moment
	SecondsLeft       int64
	Reason            string
	// NextPosition is the Position for the next call, the same in each row.
	NextPosition string
	// Message, ClientID and Fence are those of a request, and zero for any other notice. An answer to the request names them.
	Message  string
	ClientID string
	Fence    int64
}

// InboxApplLocks calls inbox_appl_locks.
func (r Routines) InboxApplLocks(ctx context.Context, params InboxApplLocksParams) ([]Notice, error) {
	args := []any{params.OperatorID, orNull(params.Position), params.MaxRows}
	return Rows(ctx, r, "inbox_appl_locks", args, func(row *Notice) []any {
		return []any{
			&row.Kind, &row.EventID, &row.ObjectType, &row.ObjectID, &row.OtherOperatorID, &row.OtherDepartmentID,
			&row.EventTS, &row.SecondsLeft, &row.Reason, &row.NextPosition, &row.Message, &row.ClientID, &row.Fence,
		}
	})
}
