package applock

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/internal/db"
)

// Waiter is an operator that waits for an object.
type Waiter struct {
	Object Object
	Owner  Owner
	// Client is the waiting program, by a name that it has made up for itself.
	Client string
	// Since is when it began to wait.
	Since time.Time
	// Until is when it gives up; zero is never.
	Until time.Time
	// Waited is how long it has waited, in whole seconds by the database's clock, rounded down.
	Waited time.Duration
	// Holder is the object's holder, with the time that its lock has left; empty when the object is free. It has no fence, end and note.
	Holder Holder
}

// WaitersRequest selects waiters. An empty field selects any.
type WaitersRequest struct {
	ObjectType string
	ObjectID   string
	// Prefix selects the objects whose TYPE:ID begins with it, such as "customer:4" or "cust", instead of ObjectType
	// and ObjectID. Only that part of the table is read.
	Prefix     string
	Operator   string
	Department string
	// NoDepartment selects waiters without a department.
	NoDepartment bool
	// OlderThan selects those who have waited for at least so long: whole seconds up to MaxTTL. It chooses among those
	// that the database returns, to the second and by its clock.
	OlderThan time.Duration
	// After leaves out those who wait for this object, or for one before it in the order of the list.
	After Object
	// PageSize is how many waiters one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It does not limit the list.
	PageSize int
}

// Waiters returns the waiters in the order of the bytes of object, operator and client. It reads page by page while the caller iterates,
// and holds no connection between pages; a waiter that waits through the whole iteration appears exactly once. An error ends the iteration
// and comes with a zero Waiter.
func (c *Client) Waiters(ctx context.Context, request WaitersRequest) iter.Seq2[Waiter, error] {
	return func(yield func(Waiter, error) bool) {
		params, keys, err := request.params()
		list := pages[db.Waiter, Waiter]{
			what: "list waiters", view: "appl_lock_waiting", maxRows: params.MaxRows, err: err,
			read: func() ([]db.Waiter, error) { return c.ops().driver.ApplLockWaiting(ctx, params) },
			goOn: func(last db.Waiter) {
				params.AfterType, params.AfterID = last.ObjectType, last.ObjectID
				params.AfterOperatorID, params.AfterClientID = last.OperatorID, last.ClientID
			},
			item: waiterOf,
			wants: func(waiter Waiter) bool {
				return keys.contains(waiter.Object) && request.selects(waiter.Object, waiter.Waited)
			},
			ends: func(waiter Waiter) bool { return keys.endsAt(waiter.Object) },
		}
		list.each(ctx, c.ops(), yield)
	}
}

func (r WaitersRequest) params() (db.ListedParams, keyRange, error) {
	// The database selects by id itself.
	keys, err := checkKeys(r.ObjectType, "", r.Prefix)
	c := checks{err}
	params := db.ListedParams{ObjectType: keys.objectType}
	params.AfterType, params.AfterID = c.texts(keys.startAfter(r.After))
	params.ObjectID = c.text(checkAnyText("ObjectID", r.ObjectID))
	params.OperatorID = c.text(checkAnyText("Operator", r.Operator))
	params.DepartmentID = c.department(checkDepartment(r.Department, r.NoDepartment))
	c.number(checkOptionalSeconds("OlderThan", r.OlderThan))
	params.MaxRows = c.number(checkRows("PageSize", r.PageSize))
	return params, keys, c.err
}

// selects reports whether the request wants one whom the database has selected, who has waited for so long.
func (r WaitersRequest) selects(object Object, waited time.Duration) bool {
	return object != r.After && waited >= r.OlderThan
}

func waiterOf(row db.Waiter) Waiter {
	return Waiter{
		Object: Object{Type: row.ObjectType, ID: row.ObjectID},
		Owner:  Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Client: row.ClientID,
		Since:  row.SinceTS.Time,
		Until:  row.UntilTS.Time,
		Waited: seconds(row.WaitedSeconds),
		Holder: Holder{
			Owner: Owner{Operator: row.HolderID, Department: row.HolderDepartmentID},
			Left:  seconds(row.SecondsLeft),
		},
	}
}
