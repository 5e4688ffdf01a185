package applock

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/internal/db"
)

// EventKind is the kind of an event of the history. More kinds may come.
type EventKind string

// The kinds of events.
const (
	// EventTransferred is a transfer.
	EventTransferred EventKind = "TRANSFERRED"
	// EventTaken is a take; the actor has taken the lock.
	EventTaken EventKind = "TAKEN"
	// EventGiven is a GIVE: the holder has handed the lock to an asker.
	EventGiven EventKind = "GIVEN"
	// EventYielded is a lock that went to an asker because its holder had not answered; the actor is the asker.
	EventYielded EventKind = "YIELDED"
	// EventReleased is a release by another actor than the holder, or with a reason; with HistoryAll any.
	EventReleased EventKind = "RELEASED"
	// EventOvertaken is a get of an object whose former lock had expired without a release.
	EventOvertaken EventKind = "OVERTAKEN"
	// EventAcquired is a new grant of what was free; as EventRenewed and EventRefused it comes only with HistoryAll.
	EventAcquired EventKind = "ACQUIRED"
	// EventRenewed is a renewal, also that of a lease: From and To are the holder.
	EventRenewed EventKind = "RENEWED"
	// EventRefused is a refused Get: the actor was refused, From and To are the holder. A waiter is refused when it begins, and when it
	// asks in vain for an object that has become free, but not at each poll. A refused get of several objects has no such events.
	EventRefused EventKind = "REFUSED"
	// EventPurged is a purge that removed rows; the reason is their number.
	EventPurged EventKind = "PURGED"
	// EventHistoryPurged is a purge of the history that removed events; the reason is their number.
	EventHistoryPurged EventKind = "HISTORY_PURGED"
	// EventPolicy is a change of the policy of a type; the reason begins with what it says now.
	EventPolicy EventKind = "POLICY"
)

// Event is an event of the history.
type Event struct {
	// ID is greater for a later event.
	ID int64
	At time.Time
	// Object is empty for EventPurged and EventHistoryPurged, and has no ID for EventPolicy.
	Object Object
	Kind   EventKind
	// Actor is who did it, as the call said; User is the database user, empty on SQLite, and Program what the connection calls
	// itself, empty where it does not.
	Actor   string
	User    string
	Program string
	// From held the object by the grant FromFence. To holds it since by ToFence; both are empty and zero after a release.
	From      Owner
	FromFence Fence
	To        Owner
	ToFence   Fence
	Reason    string
}

// HistoryRequest selects events. An empty field selects any.
type HistoryRequest struct {
	ObjectType string
	ObjectID   string
	// Operator selects what this operator did, lost or got.
	Operator string
	// Since selects what happened at most so long ago: whole seconds up to MaxTTL.
	Since time.Duration
	// NewestFirst turns the order round.
	NewestFirst bool
	// After is the ID of an event; it selects those that come after it in the order of the list.
	After int64
	// PageSize is how many events one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It does not limit the list.
	PageSize int
}

// History returns the history, oldest first unless the request says otherwise. It reads page by page while the caller iterates, and holds
// no connection between pages. An event is numbered before its transaction commits, so that one that commits during the iteration may be
// missing. An error ends the iteration and comes with a zero Event.
func (c *Client) History(ctx context.Context, request HistoryRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		params, err := request.params()
		list := pages[db.Event, Event]{
			what: "list events", view: "appl_lock_history", maxRows: params.MaxRows, err: err,
			read:  func() ([]db.Event, error) { return c.ops().driver.ApplLockHistory(ctx, params) },
			goOn:  func(last db.Event) { params.AfterEventID = last.EventID },
			item:  eventOf,
			wants: func(Event) bool { return true },
			ends:  func(Event) bool { return false },
		}
		list.each(ctx, c.ops(), yield)
	}
}

func (r HistoryRequest) params() (db.ApplLockHistoryParams, error) {
	var c checks
	params := db.ApplLockHistoryParams{
		ObjectType:   c.text(checkAnyType(r.ObjectType)),
		ObjectID:     c.text(checkAnyText("ObjectID", r.ObjectID)),
		OperatorID:   c.text(checkAnyText("Operator", r.Operator)),
		SinceSeconds: c.number(checkOptionalSeconds("Since", r.Since)),
		NewestFirst:  r.NewestFirst,
		AfterEventID: r.After,
	}
	c.refuse(r.After < 0, "After", "must not be negative")
	params.MaxRows = c.number(checkRows("PageSize", r.PageSize))
	return params, c.err
}

// checkActor checks what a release or a transfer tells the history.
func checkActor(actor, reason string) (checkedActor, checkedReason string, err error) {
	var c checks
	checkedActor = c.text(checkAnyText("Actor", actor))
	return checkedActor, c.text(checkOptionalText("Reason", reason, MaxReasonLength)), c.err
}

func eventOf(row db.Event) Event {
	return Event{
		ID:        row.EventID,
		At:        row.EventTS.Time,
		Object:    Object{Type: row.ObjectType, ID: row.ObjectID},
		Kind:      EventKind(row.Event),
		Actor:     row.ActorID,
		User:      row.DBUser,
		Program:   row.Program,
		From:      Owner{Operator: row.FromOperatorID, Department: row.FromDepartmentID},
		FromFence: Fence(row.FromFence),
		To:        Owner{Operator: row.ToOperatorID, Department: row.ToDepartmentID},
		ToFence:   Fence(row.ToFence),
		Reason:    row.Reason,
	}
}
