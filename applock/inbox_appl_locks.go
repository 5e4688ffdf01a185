package applock

import (
	"context"
	"log/slog"
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

// InboxPosition is what an inbox has already shown, as the database has written it. Its text has no meaning outside of this database. The
// zero value is the beginning. A program that restarts keeps it.
type InboxPosition string

// maxPositionLength is some times that of a position that names 10,000 events.
const maxPositionLength = 1 << 20

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
// next is the Position of the next call; without notices it is that of this call. PageSize limits the notices: events have one half of it,
// waiters, askers and answers the other, and each what the other leaves of its half. The next call returns the remaining events, and
// Waiters lists all waiters. Events are numbered before their transactions commit, and may appear in another order. Inbox misses none of
// them, and returns each once: on PostgreSQL and SQLite however long a transaction takes; on MySQL, MariaDB and Db2 for transactions of up
// to 15 minutes. It reads by index, however many locks there are.
func (c *Client) Inbox(ctx context.Context, request InboxRequest) (notices []Notice, next InboxPosition, err error) {
	defer begin(&err, "inbox: %w")
	params, err := request.params()
	if err != nil {
		return nil, request.Position, err
	}
	o := c.ops()
	rows, err := read(ctx, o, db.Driver.InboxApplLocks, params)
	if db.KindOf(err) == db.KindInvalid {
		err = &InvalidError{Argument: "Position", Reason: "is not one that Inbox has returned"}
	}
	if err != nil {
		return nil, request.Position, err
	}
	o.log(ctx, "inbox_appl_locks", slog.String("operator", params.OperatorID), slog.Int("rows", len(rows)))
	next = request.Position
	for _, row := range rows {
		notices = append(notices, noticeOf(row))
		next = InboxPosition(row.NextPosition)
	}
	return notices, next, nil
}

func (r InboxRequest) params() (db.InboxApplLocksParams, error) {
	var c checks
	operator := c.text(checkText("Operator", r.Operator, MaxOperatorLength))
	position := c.text(checkOptionalText("Position", string(r.Position), maxPositionLength))
	rows := c.number(checkRows("PageSize", r.PageSize))
	return db.InboxApplLocksParams{OperatorID: operator, Position: position, MaxRows: rows}, c.err
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
