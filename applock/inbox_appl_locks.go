package applock

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices. The first five are events of the history, which appear once; the others show the present state, and appear in
// each call.
const (
	// NoticeTaken is a lock that another operator has taken from this one, or has handed on: Other has it now.
	NoticeTaken NoticeKind = "TAKEN"
	// NoticeHanded is a lock that another operator has transferred to this one: Other had it.
	NoticeHanded NoticeKind = "HANDED"
	// NoticeReleased is a lock of this operator that Other has ended.
	NoticeReleased NoticeKind = "RELEASED"
	// NoticeGiven is a lock of this operator that went to Other, who had asked for it. Any operator may have made the call.
	NoticeGiven NoticeKind = "GIVEN"
	// NoticeYielded is a lock of this operator that went to Other, whose request was unanswered for the time of the type's Policy.
	NoticeYielded NoticeKind = "YIELDED"
	// NoticeAwaited is a lock of this operator that Other waits for, or, if Client is not empty, asks for with Message.
	NoticeAwaited NoticeKind = "AWAITED"
	// NoticeLater and NoticeDeclined are the answers of Other, the holder, to a request of this operator.
	NoticeLater    NoticeKind = "LATER"
	NoticeDeclined NoticeKind = "DECLINED"
)

// Notice is what an operator should know about one object.
type Notice struct {
	Kind NoticeKind
	// Event is the ID of the event, zero for what is none.
	Event  int64
	Object Object
	// Other is the other operator, as the kind says. The one who has released or answered has no department here.
	Other Owner
	// At is when it happened, or since when Other waits or asks.
	At time.Time
	// Left is how long this operator's lock lasts, in whole seconds by the database's clock, for NoticeAwaited.
	Left time.Duration
	// Reason is what the history has, or what came with the answer; empty for none.
	Reason string
	// Message, Client and Fence are of a request, empty and zero otherwise: what Other has to say, its program, and the fence of this
	// operator's grant that it asks for. Answer takes them.
	Message string
	Client  string
	Fence   Fence
}

// InboxPosition is what an inbox has already shown. The zero value is the beginning. A program that restarts keeps both fields.
type InboxPosition struct {
	// After is the ID of an event: this one and all before it have been shown, and no earlier event can still appear.
	After int64 `json:"safe_event_id"`
	// Told are the IDs of events behind After that have been shown.
	Told []int64 `json:"told_event_ids"`
}

// InboxRequest asks what concerns an operator.
type InboxRequest struct {
	Operator string
	// Position is the next that the call before has returned; the zero value is the beginning.
	Position InboxPosition
	// PageSize limits the notices: 1 to MaxPageSize, zero is DefaultPageSize.
	PageSize int
}

// Inbox returns the notices for an operator. First come the actions of others on its locks since the Position, in that order. Then come waiters
// and askers for its locks, and the answers to its own requests, oldest first. Call it in each heartbeat. The operator's own actions are not
// included. Use List with ExpiresWithin for locks that end soon. If the Policy of the type lets a lock yield to an asker, the time for an
// answer begins with the first Inbox that shows the request.
//
// next is the Position of the next call. PageSize limits the notices: the next call returns the remaining events, and Waiters lists all
// waiters. Events are numbered before their transactions commit, and may appear in another order. Inbox misses none of them: on PostgreSQL
// and SQLite however long a transaction takes; on MySQL, MariaDB and Db2 for transactions of up to 15 minutes. It reads by index, however
// many locks there are.
func (c *Client) Inbox(ctx context.Context, request InboxRequest) (notices []Notice, next InboxPosition, err error) {
	defer begin(&err, "inbox: %w")
	params, err := request.params()
	if err != nil {
		return nil, request.Position, err
	}
	o := c.operations
	rows, err := read(ctx, o, db.Driver.InboxApplLocks, params)
	if err != nil {
		return nil, request.Position, err
	}
	o.log(ctx, "inbox_appl_locks", slog.String("operator", params.OperatorID), slog.Int("rows", len(rows)))
	notices, next = request.Position.told(rows, cmp.Or(request.PageSize, DefaultPageSize))
	return notices, next, nil
}

func (r InboxRequest) params() (db.InboxApplLocksParams, error) {
	var c checks
	operator := c.text(checkText("Operator", r.Operator, MaxOperatorLength))
	c.refuse(r.Position.After < 0, "Position.After", "must not be negative")
	// An event that was shown before takes a place in the answer.
	rows := min(c.number(checkRows("PageSize", r.PageSize))+int64(len(r.Position.Told)), MaxPageSize)
	return db.InboxApplLocksParams{OperatorID: operator, AfterEventID: r.Position.After, MaxRows: rows}, c.err
}

// told leaves out events that were shown before, and all behind the first most notices.
func (p InboxPosition) told(rows []db.Notice, most int) (notices []Notice, next InboxPosition) {
	next = p
	var events []int64
	cut := false
	for _, row := range rows {
		switch {
		case row.EventID != 0 && slices.Contains(p.Told, row.EventID):
			events = append(events, row.EventID)
			continue
		case len(notices) == most:
			cut = cut || row.EventID != 0
			continue
		case row.EventID != 0:
			events = append(events, row.EventID)
		}
		notices = append(notices, noticeOf(row))
	}
	if len(rows) == 0 {
		return notices, next
	}
	next.After = max(p.After, rows[0].SafeEventID)
	if cut { // the next call returns an event that is left out
		next.After = max(p.After, min(next.After, slices.Max(events)))
	}
	next.Told = slices.DeleteFunc(append(slices.Clone(p.Told), events...), func(event int64) bool { return event <= next.After })
	slices.Sort(next.Told)
	next.Told = slices.Compact(next.Told)
	return notices, next
}

func noticeOf(row db.Notice) Notice {
	return Notice{
		Kind:   NoticeKind(row.Kind),
		Event:  row.EventID,
		Object: Object{Type: row.ObjectType, ID: row.ObjectID},
		Other:  Owner{Operator: row.OtherOperatorID, Department: row.OtherDepartmentID},
		At:     row.EventTS.Time,
		Left:   seconds(row.SecondsLeft),
		Reason: row.Reason,

		Message: row.Message,
		Client:  row.ClientID,
		Fence:   Fence(row.Fence),
	}
}
