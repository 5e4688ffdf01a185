package applock

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// The sizes of a page of List and of a batch of Purge.
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
	// After leaves out what comes before the end of an earlier list in the same order, whose last object it is. It need
	// not be held any more.
	After Object
	// PageSize is how many locks one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It does not limit the list.
	PageSize int
}

// List returns the live locks in the order of their objects' bytes. It reads page by page while the
// caller iterates and holds no connection in between; a lock that lives through the whole iteration
// appears exactly once. An error ends the iteration and comes with a zero Lock.
//
// The database selects by type, operator and department, and reads no objects but those of ObjectID or Prefix.
// OlderThan and ExpiresWithin choose among the locks that it returns, to the second and by its clock.
func (c *Client) List(ctx context.Context, request ListRequest) iter.Seq2[Lock, error] {
	o := c.operations
	return func(yield func(Lock, error) bool) {
		params, keys, err := request.params()
		if err != nil {
			yield(Lock{}, fmt.Errorf("list: %w", err))
			return
		}
		for {
			rows, err := retryIfUnchanged(ctx, o, func() ([]db.Lock, error) { return o.driver.ListApplLocks(ctx, params) })
			if err != nil {
				yield(Lock{}, fmt.Errorf("list: %w", o.readError(err)))
				return
			}
			o.log(ctx, "list_appl_locks", slog.Int("rows", len(rows)))
			for _, row := range rows {
				lock := lockOf(row)
				if keys.contains(lock.Object) && request.selects(lock) && !yield(lock, nil) || keys.endsAt(lock.Object) {
					return
				}
			}
			if int64(len(rows)) < params.MaxRows {
				return
			}
			last := rows[len(rows)-1]
			params.AfterType, params.AfterID = last.ObjectType, last.ObjectID
		}
	}
}

func (r ListRequest) params() (db.ListApplLocksParams, keyRange, error) {
	var params db.ListApplLocksParams
	keys, err := checkKeys(r.ObjectType, r.ObjectID, r.Prefix)
	if err != nil {
		return params, keys, err
	}
	params.ObjectType = keys.objectType
	if params.AfterType, params.AfterID, err = keys.startAfter(r.After); err != nil {
		return params, keys, err
	}
	if r.Operator != "" {
		if params.OperatorID, err = checkText("Operator", r.Operator, MaxOperatorLength); err != nil {
			return params, keys, err
		}
	}
	if params.DepartmentID, err = checkDepartment(r.Department, r.NoDepartment); err != nil {
		return params, keys, err
	}
	if err := checkOptionalSeconds("OlderThan", r.OlderThan); err != nil {
		return params, keys, err
	}
	if err := checkOptionalSeconds("ExpiresWithin", r.ExpiresWithin); err != nil {
		return params, keys, err
	}
	params.MaxRows, err = checkRows("PageSize", r.PageSize)
	if keys.exact && r.PageSize == 0 {
		params.MaxRows = 1 // most often the lock itself, or one behind it
	}
	return params, keys, err
}

// selects reports whether the request wants a lock that the database has selected.
func (r ListRequest) selects(lock Lock) bool {
	now := lock.ExpiresAt.Add(-lock.Left) // to the second, and so it can lie before AcquiredAt
	return (r.OlderThan == 0 || now.Sub(lock.AcquiredAt) >= r.OlderThan) && (r.ExpiresWithin == 0 || lock.Left <= r.ExpiresWithin)
}

// checkDepartment returns the department to select, nil for any.
func checkDepartment(department string, none bool) (*string, error) {
	trimmed, err := checkOptionalText("Department", department, MaxDepartmentLength)
	switch {
	case err != nil:
		return nil, err
	case none && trimmed != "":
		return nil, &InvalidError{Argument: "NoDepartment", Reason: "is wanted together with a department"}
	case none, trimmed != "":
		return &trimmed, nil
	default:
		return nil, nil
	}
}

// checkOptionalSeconds checks a time of whole seconds, zero for one that is not given.
func checkOptionalSeconds(argument string, value time.Duration) error {
	if value == 0 {
		return nil
	}
	_, err := checkSeconds(argument, value, 0)
	return err
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
