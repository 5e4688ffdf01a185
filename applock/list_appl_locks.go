package applock

import (
	"context"
	"fmt"
	"iter"
	"log/slog"

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
	Operator   string
	Department string
	// PageSize is how many locks one call to the database returns: 1 to MaxPageSize, zero is
	// DefaultPageSize. It does not limit the list.
	PageSize int
}

// List returns the live locks in the order of their objects' bytes. It reads page by page while the
// caller iterates and holds no connection in between; a lock that lives through the whole iteration
// appears exactly once. An error ends the iteration and comes with a zero Lock.
func (c *Client) List(ctx context.Context, request ListRequest) iter.Seq2[Lock, error] {
	o := c.operations
	return func(yield func(Lock, error) bool) {
		params, err := request.params()
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
				if !yield(lockOf(row), nil) {
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

func (r ListRequest) params() (db.ListApplLocksParams, error) {
	var params db.ListApplLocksParams
	var err error
	if r.ObjectType != "" {
		if params.ObjectType, err = checkObjectType("ObjectType", r.ObjectType); err != nil {
			return params, err
		}
	}
	if r.Operator != "" {
		if params.OperatorID, err = checkText("Operator", r.Operator, MaxOperatorLength); err != nil {
			return params, err
		}
	}
	if params.DepartmentID, err = checkOptionalText("Department", r.Department, MaxDepartmentLength); err != nil {
		return params, err
	}
	params.MaxRows, err = checkRows("PageSize", r.PageSize)
	return params, err
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
