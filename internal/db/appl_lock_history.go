package db

// ApplLockHistoryParams selects rows of the view appl_lock_history. An empty or zero filter selects all.
type ApplLockHistoryParams struct {
	ObjectType string
	ObjectID   string
	// OperatorID selects the events that this operator caused, or that ended or began a lock of his.
	OperatorID   string
	SinceSeconds int64
	// NewestFirst reverses the order. The first page starts after event 0, or with NewestFirst at the end. Each next page starts after the
	// last event of the page before.
	NewestFirst  bool
	AfterEventID int64
	MaxRows      int64
}

// Event is one row of appl_lock_history.
type Event struct {
	EventID          int64
	EventTS          Moment
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

// EventKind is the kind of an event. Later versions may add kinds.
type EventKind = string

// The kinds of events.
const (
	EventTransferred EventKind = "TRANSFERRED"
	EventTaken       EventKind = "TAKEN"
	EventGiven       EventKind = "GIVEN"
	EventYielded     EventKind = "YIELDED"
	EventReleased    EventKind = "RELEASED"
	EventOvertaken   EventKind = "OVERTAKEN"
	EventAcquired    EventKind = "ACQUIRED"
	EventRenewed     EventKind = "RENEWED"
	EventRefused     EventKind = "REFUSED"
	EventPurged      EventKind = "PURGED"
	EventPolicy      EventKind = "POLICY"
	// EventHistoryPurged is a purge of the history itself.
	EventHistoryPurged EventKind = "HISTORY_PURGED"
)
