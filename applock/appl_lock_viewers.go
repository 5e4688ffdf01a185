package applock

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// Viewer is somebody who looks at an object.
type Viewer struct {
	Object Object
	Owner  Owner
	// Client is the browser tab or program, and State what it does there.
	Client string
	State  PresenceState
	// Since is when it began to look.
	Since time.Time
	// Left is how long it is listed unless it calls See again, in whole seconds by the database's clock, rounded up.
	Left time.Duration
}

// ViewersRequest selects viewers. An empty field selects any.
type ViewersRequest struct {
	ObjectType string
	ObjectID   string
	// Prefix selects the objects whose TYPE:ID begins with it, such as "customer:4" or "cust", instead of ObjectType
	// and ObjectID. Only that part of the table is read.
	Prefix     string
	Operator   string
	Department string
	// NoDepartment selects viewers without a department.
	NoDepartment bool
	// PageSize is how many viewers one call to the database returns: 1 to MaxPageSize, zero is DefaultPageSize. It does not limit
	// the list.
	PageSize int
}

// Viewers returns those who look at objects, as See has been told, in the order of the bytes of object, operator and client. It reads
// page by page while the caller iterates and holds no connection in between; one who looks through the whole iteration appears
// exactly once. An error ends the iteration and comes with a zero Viewer. On PostgreSQL it needs the primary.
func (c *Client) Viewers(ctx context.Context, request ViewersRequest) iter.Seq2[Viewer, error] {
	o := c.operations
	return func(yield func(Viewer, error) bool) {
		params, keys, err := request.params()
		if err != nil {
			yield(Viewer{}, fmt.Errorf("list viewers: %w", err))
			return
		}
		for {
			rows, err := retryIfUnchanged(ctx, o, func() ([]db.Viewer, error) { return o.driver.ApplLockViewers(ctx, params) })
			if err != nil {
				yield(Viewer{}, fmt.Errorf("list viewers: %w", o.readError(err)))
				return
			}
			o.log(ctx, "appl_lock_viewers", slog.Int("rows", len(rows)))
			for _, row := range rows {
				viewer := viewerOf(row)
				if keys.contains(viewer.Object) && !yield(viewer, nil) || keys.endsAt(viewer.Object) {
					return
				}
			}
			if int64(len(rows)) < params.MaxRows {
				return
			}
			last := rows[len(rows)-1]
			params.AfterType, params.AfterID = last.ObjectType, last.ObjectID
			params.AfterOperatorID, params.AfterClientID = last.OperatorID, last.ClientID
		}
	}
}

func (r ViewersRequest) params() (db.ApplLockViewersParams, keyRange, error) {
	var params db.ApplLockViewersParams
	// The database selects by id itself.
	keys, err := checkKeys(r.ObjectType, "", r.Prefix)
	if err != nil {
		return params, keys, err
	}
	params.ObjectType = keys.objectType
	if params.AfterType, params.AfterID, err = keys.startAfter(Object{}); err != nil {
		return params, keys, err
	}
	if r.ObjectID != "" {
		if params.ObjectID, err = checkText("ObjectID", r.ObjectID, MaxObjectIDLength); err != nil {
			return params, keys, err
		}
	}
	if r.Operator != "" {
		if params.OperatorID, err = checkText("Operator", r.Operator, MaxOperatorLength); err != nil {
			return params, keys, err
		}
	}
	if params.DepartmentID, err = checkDepartment(r.Department, r.NoDepartment); err != nil {
		return params, keys, err
	}
	params.MaxRows, err = checkRows("PageSize", r.PageSize)
	return params, keys, err
}

func viewerOf(row db.Viewer) Viewer {
	return Viewer{
		Object: Object{Type: row.ObjectType, ID: row.ObjectID},
		Owner:  Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Client: row.ClientID,
		State:  PresenceState(row.State),
		Since:  row.SinceTS,
		Left:   time.Duration(row.SecondsLeft) * time.Second,
	}
}
