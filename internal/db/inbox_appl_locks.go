package db

import "time"

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
