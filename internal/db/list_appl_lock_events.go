package db

import "time"

// ListApplLockEventsParams are the IN parameters of list_appl_lock_events. An empty filter is any; the first page starts after
// event 0.
type ListApplLockEventsParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	SinceSeconds int64
	AfterEventID int64
	MaxRows      int64
}

// Event is one row of appl_lock_event.
type Event struct {
	EventID          int64
	EventTS          time.Time
	ObjectType       string
	ObjectID         string
	Event            EventKind
	ActorID          string
	DBUser           string
	Program          string
	FromOperatorID   string
	FromDepartmentID string
	ToOperatorID     string
	ToDepartmentID   string
	FromFence        int64
	ToFence          int64
	Reason           string
}

// EventKind is what an event is. More of them may come.
type EventKind string

// The kinds of events.
const (
	EventTransferred EventKind = "TRANSFERRED"
	EventTaken       EventKind = "TAKEN"
	EventReleased    EventKind = "RELEASED"
	EventOvertaken   EventKind = "OVERTAKEN"
	EventAcquired    EventKind = "ACQUIRED"
	EventRenewed     EventKind = "RENEWED"
	EventRefused     EventKind = "REFUSED"
	EventPurged      EventKind = "PURGED"
	EventPolicy      EventKind = "POLICY"
)
