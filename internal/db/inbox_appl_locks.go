package db

import "time"

func inboxApplLocks() Operation {
	return Operation{
		Name:    "inbox_appl_locks",
		Summary: "What concerns an operator: what others did with its locks, who waits or asks for them, and how its requests were answered.",
		Parameters: []Parameter{
			operatorID(),
			{"p_after_event_id", In, Number, "safe_event_id of its last call, 0 or greater; NULL = from the start"},
			{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
		},
		Columns: []Parameter{
			{"kind", Out, Text, "`TAKEN`, `HANDED`, `RELEASED`, `GIVEN` or `YIELDED`, which are events; `AWAITED`, `LATER` or `DECLINED`, which is how it is now"},
			{"event_id", Out, Number, "number of the event; 0 for none"},
			rowType(), rowID(),
			{"other_operator_id", Out, Text, "who has it now, `TAKEN`, `GIVEN` and `YIELDED`; who had it, `HANDED`; who ended the lock, `RELEASED`; who waits or asks, `AWAITED`; who answered, `LATER` and `DECLINED`"},
			{"other_department_id", Out, Text, "that operator's department; empty when `RELEASED`, `LATER` or `DECLINED`"},
			{"event_ts", Out, Timestamp, "when it happened; since when that one waits or asks, `AWAITED`"},
			{"seconds_left", Out, Number, "whole seconds from now to the end of the operator's lock, rounded up; 0 unless `AWAITED`"},
			{"reason", Out, Text, "why; empty for none"},
			{"safe_event_id", Out, Number, "p_after_event_id of the next call: no event up to it is still to come; the same in each row"},
			{"message", Out, Text, "what who asks has to say, `AWAITED`; else empty"},
			{"client_id", Out, Text, "the program of who asks, for answer_appl_lock; empty unless it is a request"},
			{"fence", Out, Number, "the operator's grant that is asked for, for answer_appl_lock; 0 unless it is a request"},
		},
		Answers: []Answer{
			remark("`TAKEN`: another operator took it, or handed it on; `HANDED`: another operator handed it over to this one; `RELEASED`: another operator ended its lock"),
			remark("`GIVEN` and `YIELDED`: its lock went to who had asked for it, whoever made the call; `LATER` and `DECLINED`: who holds what it asks for has answered"),
			remark("`AWAITED`: another operator waits or asks for what this one holds; a request that was answered `NO` is not shown again"),
			remark("events in their order, then who waits longest first; p_max_rows rows may not be all; an event may come twice"),
		},
	}
}

// InboxApplLocksParams are the IN parameters of inbox_appl_locks. A zero AfterEventID is NULL: no event has been seen.
type InboxApplLocksParams struct {
	OperatorID   string
	AfterEventID int64
	MaxRows      int64
}

// Notice is one row of inbox_appl_locks.
type Notice struct {
	Kind              NoticeKind
	EventID           int64
	ObjectType        string
	ObjectID          string
	OtherOperatorID   string
	OtherDepartmentID string
	EventTS           time.Time
	SecondsLeft       int64
	Reason            string
	// SafeEventID is the AfterEventID of the next call; the same in each row.
	SafeEventID int64
	// Message, ClientID and Fence are of a request, which an answer names: zero for any other notice.
	Message  string
	ClientID string
	Fence    int64
}

// NoticeKind is what a notice tells. More of them may come.
type NoticeKind string

// The kinds of notices.
const (
	NoticeTaken    NoticeKind = "TAKEN"
	NoticeHanded   NoticeKind = "HANDED"
	NoticeReleased NoticeKind = "RELEASED"
	NoticeAwaited  NoticeKind = "AWAITED"
	NoticeGiven    NoticeKind = "GIVEN"
	NoticeYielded  NoticeKind = "YIELDED"
	NoticeLater    NoticeKind = "LATER"
	NoticeDeclined NoticeKind = "DECLINED"
)
