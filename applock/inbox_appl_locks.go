package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// NoticeKind is what a notice tells. More kinds may come.
type NoticeKind string

// The kinds of notices. The first three are events of the history, which are told once; the others are how it is now, and are
// told by each call.
const (
	// NoticeTaken is a lock that another operator has taken from this one, or has handed on: Other has it now.
	NoticeTaken NoticeKind = "TAKEN"
	// NoticeHanded is a lock that another operator has transferred to this one: Other had it.
	NoticeHanded NoticeKind = "HANDED"
	// NoticeReleased is a lock of this operator that Other has ended.
	NoticeReleased NoticeKind = "RELEASED"
	// NoticeAwaited is a lock of this operator that Other waits for.
	NoticeAwaited NoticeKind = "AWAITED"
	// NoticeExpiring is a lock of this operator that ends within the hour.
	NoticeExpiring NoticeKind = "EXPIRING"
)

// Notice is what an operator should know about one object.
type Notice struct {
	Kind NoticeKind
	// Event is the ID of the event, zero for NoticeAwaited and NoticeExpiring.
	Event  int64
	Object Object
	// Other is the other operator, as the kind says; empty for NoticeExpiring. Who has released has no department here.
	Other Owner
	// At is when it happened, since when Other waits, or when the lock ends.
	At time.Time
	// Left is how long this operator's lock lasts, in whole seconds by the database's clock, for NoticeAwaited and NoticeExpiring.
	Left time.Duration
	// Reason is what the history has; empty for none.
	Reason string
}

// InboxRequest asks what concerns an operator.
type InboxRequest struct {
	Operator string
	// After is the greatest Event that the operator has seen; zero is none.
	After int64
	// PageSize limits the notices: 1 to MaxPageSize, zero is DefaultPageSize.
	PageSize int
}

// Inbox returns what concerns an operator, in one call, such as one in each heartbeat: first what others have done with its
// locks since the event After, in that order; then who waits for what it holds, who waits longest first; then what ends within
// the hour, what ends first first. The next call is after the greatest Event of this one. What the operator has done itself is
// no news.
//
// PageSize notices may not be all: then come the rest of the events with the next call, and List and Waiters have all that is now.
// An event is numbered before its transaction commits: one that commits after a later one was read is left out. The renewal of
// a lock that is lost tells so in any case. The call reads every lock and every waiter once, like a List of the operator's locks.
func (c *Client) Inbox(ctx context.Context, request InboxRequest) ([]Notice, error) {
	params, err := request.params()
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	o := c.operations
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.Notice, error) { return o.driver.InboxApplLocks(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", o.readError(err))
	}
	o.log(ctx, "inbox_appl_locks", slog.String("operator", params.OperatorID), slog.Int("rows", len(rows)))
	notices := make([]Notice, len(rows))
	for i, row := range rows {
		notices[i] = noticeOf(row)
	}
	return notices, nil
}

func (r InboxRequest) params() (db.InboxApplLocksParams, error) {
	operator, err := checkText("Operator", r.Operator, MaxOperatorLength)
	if err != nil {
		return db.InboxApplLocksParams{}, err
	}
	if r.After < 0 {
		return db.InboxApplLocksParams{}, &InvalidError{Argument: "After", Reason: "must not be negative"}
	}
	rows, err := checkRows("PageSize", r.PageSize)
	return db.InboxApplLocksParams{OperatorID: operator, AfterEventID: r.After, MaxRows: rows}, err
}

func noticeOf(row db.Notice) Notice {
	return Notice{
		Kind:   NoticeKind(row.Kind),
		Event:  row.EventID,
		Object: Object{Type: row.ObjectType, ID: row.ObjectID},
		Other:  Owner{Operator: row.OtherOperatorID, Department: row.OtherDepartmentID},
		At:     row.EventTS,
		Left:   time.Duration(row.SecondsLeft) * time.Second,
		Reason: row.Reason,
	}
}
