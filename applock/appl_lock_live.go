package applock

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/applock/applock/internal/db"
)

// The sizes of List's page and of Purge's batch.
const (
	DefaultPageSize = 1000
	MaxPageSize     = 10000
)

// ListRequest selects live locks. An empty field selects any.
type ListRequest struct {
	ObjectType string
	// ObjectID selects one object of ObjectType.
	ObjectID string
	// Prefix selects the objects whose TYPE:ID begins with it, such as "customer:4" or "cust", instead of ObjectType
	// and ObjectID. Only that part of the table is read.
	Prefix     string
	Operator   string
	Department string
	// NoDepartment selects locks without a department.
	NoDepartment bool
	// OlderThan selects grants that began at least so long ago: whole seconds up to MaxTTL.
	OlderThan time.Duration
	// ExpiresWithin selects locks that end within this time unless they are renewed: whole seconds up to MaxTTL.
	ExpiresWithin time.Duration
	// Order is how the list is sorted; empty is ByObject.
	Order ListOrder
	// After leaves out what comes before the end of an earlier list, whose last object it is. It need not be held any more.
	// It is for ByObject only.
	After Object
	// PageSize is how many locks one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It limits the list in any order but ByObject.
	PageSize int
}

// ListOrder is an order of List. The objects' bytes decide between equals.
type ListOrder string

// The orders of List. In any other than ByObject the list has one page, and no Prefix or ObjectID.
const (
	// ByObject is the order of the objects' bytes, in which a list goes on page by page.
	ByObject ListOrder = ""
	// ByTimeLeft has the lock first that ends soonest.
	ByTimeLeft ListOrder = "ends_soonest"
	// ByAge has the oldest grant first.
	ByAge ListOrder = "oldest"
	// ByWaiters begins with the lock that an operator has waited for longest. It leaves out locks without a waiter.
	ByWaiters ListOrder = "waited_for"
)

// List returns the live locks, which the database selects and sorts. By default it reads page by page in the order of the objects' bytes
// while the caller iterates, and holds no connection between pages; a lock that lives through the whole iteration appears exactly once. In
// any other order it returns the first PageSize locks. An error ends the iteration and comes with a zero Lock.
func (c *Client) List(ctx context.Context, request ListRequest) iter.Seq2[Lock, error] {
	return c.ops().list(ctx, request)
}

func (o operations) list(ctx context.Context, request ListRequest) iter.Seq2[Lock, error] {
	return func(yield func(Lock, error) bool) {
		params, keys, err := request.params()
		list := pages[db.Lock, Lock]{
			what: "list", view: "appl_lock_live", maxRows: params.MaxRows, err: err,
			read:  func() ([]db.Lock, error) { return o.driver.ApplLockLive(ctx, params) },
			item:  lockOf,
			wants: func(lock Lock) bool { return keys.contains(lock.Object) },
			ends:  func(lock Lock) bool { return params.Order == db.LiveByKey && keys.endsAt(lock.Object) },
		}
		if params.Order == db.LiveByKey {
			list.goOn = func(last db.Lock) { params.AfterType, params.AfterID = last.ObjectType, last.ObjectID }
		}
		list.each(ctx, o, yield)
	}
}

func (r ListRequest) params() (db.ApplLockLiveParams, keyRange, error) {
	keys, err := checkKeys(r.ObjectType, r.ObjectID, r.Prefix)
	c := checks{err}
	params := db.ApplLockLiveParams{ObjectType: keys.objectType}
	params.AfterType, params.AfterID = c.texts(keys.startAfter(r.After))
	params.OperatorID = c.text(checkAnyText("Operator", r.Operator))
	params.DepartmentID = c.department(checkDepartment(r.Department, r.NoDepartment))
	params.OlderThanSeconds = c.number(checkOptionalSeconds("OlderThan", r.OlderThan))
	params.ExpiresWithinSeconds = c.number(checkOptionalSeconds("ExpiresWithin", r.ExpiresWithin))
	order, err := r.order()
	params.Order = keep(&c, order, err)
	params.MaxRows = c.number(checkRows("PageSize", r.PageSize))
	if keys.exact && r.PageSize == 0 {
		params.MaxRows = 1 // most often the lock itself, or one behind it
	}
	return params, keys, c.err
}

// order checks the order. A request for a part of the order of objects excludes another order.
func (r ListRequest) order() (db.LiveOrder, error) {
	switch r.Order {
	case ByObject:
		return db.LiveByKey, nil
	case ByTimeLeft, ByAge, ByWaiters:
	default:
		return "", &InvalidError{Argument: "Order", Reason: fmt.Sprintf("%q is not an order of List", r.Order)}
	}
	if r.Prefix != "" || r.ObjectID != "" || r.After != (Object{}) {
		return "", &InvalidError{Argument: "Order", Reason: "must be ByObject together with a Prefix, an ObjectID or After"}
	}
	return db.LiveOrder(r.Order), nil
}

// checkDepartment returns the department to select, nil for any.
func checkDepartment(department string, none bool) (*string, error) {
	trimmed, err := checkName("Department", department, MaxDepartmentLength)
	switch {
	case err != nil:
		return nil, err
	case none && trimmed != "":
		return nil, &InvalidError{Argument: "NoDepartment", Reason: "contradicts Department: leave out one of the two"}
	case none, trimmed != "":
		return &trimmed, nil
	default:
		return nil, nil
	}
}

// checkOptionalSeconds returns a time in whole seconds, zero for one that is not given.
func checkOptionalSeconds(argument string, value time.Duration) (int64, error) {
	if value == 0 {
		return 0, nil
	}
	return checkSeconds(argument, value)
}

// checkRows returns the size of a page or batch, or the default for zero.
func checkRows(argument string, rows int) (int64, error) {
	if rows == 0 {
		return DefaultPageSize, nil
	}
	if rows < 0 || rows > MaxPageSize {
		return 0, &InvalidError{Argument: argument, Reason: fmt.Sprintf("must lie between 1 and %d", MaxPageSize)}
	}
	return int64(rows), nil
}
