package applock

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/internal/db"
)

// Asker is an operator that asks for an object.
type Asker struct {
	Object Object
	Owner  Owner
	// Client is the asking program, by a name that it has made up for itself.
	Client string
	// Message is what the holder is to read; empty for nothing.
	Message string
	// Since is when it began to ask.
	Since time.Time
	// Until is when it gives up; zero is never.
	Until time.Time
	// Answer is the holder's answer, AnswerLater or AnswerNo; empty for none. AnswerReason came with it.
	Answer       AskAnswer
	AnswerReason string
	// Waited is how long it has asked, in whole seconds by the database's clock, rounded down.
	Waited time.Duration
	// Holder is the object's holder, with the time that its lock has left; empty when the object is free. It has no fence, end and note.
	Holder Holder
}

// AskingRequest selects askers. An empty field selects any.
type AskingRequest struct {
	ObjectType string
	ObjectID   string
	// Prefix selects the objects whose TYPE:ID begins with it, such as "customer:4" or "cust", instead of ObjectType
	// and ObjectID. Only that part of the table is read.
	Prefix     string
	Operator   string
	Department string
	// NoDepartment selects askers without a department.
	NoDepartment bool
	// OlderThan selects those who have asked for at least so long: whole seconds up to MaxTTL. It chooses among those
	// that the database returns, to the second and by its clock.
	OlderThan time.Duration
	// After leaves out those who ask for this object, or for one before it in the order of the list.
	After Object
	// PageSize is how many askers one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It does not limit the list.
	PageSize int
}

// Asking returns the askers in the order of the bytes of object, operator and client. It reads page by page while the caller iterates, and
// holds no connection between pages; an asker that asks through the whole iteration appears exactly once. An error ends the iteration and
// comes with a zero Asker.
func (c *Client) Asking(ctx context.Context, request AskingRequest) iter.Seq2[Asker, error] {
	return func(yield func(Asker, error) bool) {
		params, keys, err := WaitersRequest(request).params()
		list := pages[db.Asker, Asker]{
			what: "list requests", view: "appl_lock_asking", maxRows: params.MaxRows, err: err,
			read: func() ([]db.Asker, error) {
				return c.ops().driver.ApplLockAsking(ctx, params)
			},
			goOn: func(last db.Asker) {
				params.AfterType, params.AfterID = last.ObjectType, last.ObjectID
				params.AfterOperatorID, params.AfterClientID = last.OperatorID, last.ClientID
			},
			item: askerOf,
			wants: func(asker Asker) bool {
				return keys.contains(asker.Object) && WaitersRequest(request).selects(asker.Object, asker.Waited)
			},
			ends: func(asker Asker) bool { return keys.endsAt(asker.Object) },
		}
		list.each(ctx, c.ops(), yield)
	}
}

func askerOf(row db.Asker) Asker {
	return Asker{
		Object:       Object{Type: row.ObjectType, ID: row.ObjectID},
		Owner:        Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Client:       row.ClientID,
		Message:      row.Message,
		Answer:       AskAnswer(row.Answer),
		AnswerReason: row.AnswerReason,
		Since:        row.SinceTS.Time,
		Until:        row.UntilTS.Time,
		Waited:       seconds(row.WaitedSeconds),
		Holder: Holder{
			Owner: Owner{Operator: row.HolderID, Department: row.HolderDepartmentID},
			Left:  seconds(row.SecondsLeft),
		},
	}
}
