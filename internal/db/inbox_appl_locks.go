package db

import "time"

func inboxApplLocks() Operation {
	return Operation{
		Name:    "inbox_appl_locks",
		Summary: "What concerns an operator: what others did with its locks, and who waits for them.",
		Parameters: []Parameter{
			operatorID(),
			{"p_after_event_id", In, Number, "safe_event_id of its last call, 0 or greater; NULL = from the start"},
			{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
		},
		Columns: []Parameter{
			{"kind", Out, Text, "`TAKEN`, `HANDED` or `RELEASED`, which are events; `AWAITED`, which is how it is now"},
			{"event_id", Out, Number, "number of the event; 0 for none"},
			rowType(), rowID(),
			{"other_operator_id", Out, Text, "who has it now, `TAKEN`; who had it, `HANDED`; who ended the lock, `RELEASED`; who waits, `AWAITED`; else empty"},
			{"other_department_id", Out, Text, "that operator's department; empty when `RELEASED`"},
			{"event_ts", Out, Timestamp, "when it happened; since when that one waits, `AWAITED`"},
			{"seconds_left", Out, Number, "whole seconds from now to the end of the operator's lock, rounded up; 0 for events"},
			{"reason", Out, Text, "why; empty for none"},
			{"safe_event_id", Out, Number, "p_after_event_id of the next call: no event up to it is still to come; the same in each row"},
		},
		Answers: []Answer{
			remark("`TAKEN`: another operator took it, or handed it on; `HANDED`: another operator handed it over to this one; `RELEASED`: another operator ended its lock"),
			remark("`AWAITED`: another operator waits for what this one holds"),
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
}

// NoticeKind is what a notice tells. More of them may come.
type NoticeKind string

// The kinds of notices.
const (
	NoticeTaken    NoticeKind = "TAKEN"
	NoticeHanded   NoticeKind = "HANDED"
	NoticeReleased NoticeKind = "RELEASED"
	NoticeAwaited  NoticeKind = "AWAITED"
)
