package applock

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/internal/db"
)

// Viewer is an operator that looks at an object.
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

// Viewers returns the viewers, as See has recorded them, in the order of the bytes of object, operator and client. It reads page by page
// while the caller iterates, and holds no connection between pages; a viewer that looks through the whole iteration appears exactly once.
// An error ends the iteration and comes with a zero Viewer. On PostgreSQL it needs the primary.
func (c *Client) Viewers(ctx context.Context, request ViewersRequest) iter.Seq2[Viewer, error] {
	return func(yield func(Viewer, error) bool) {
		params, keys, err := request.params()
		list := pages[db.Viewer, Viewer]{
			what: "list viewers", view: "appl_lock_viewers", maxRows: params.MaxRows, err: err,
			read: func() ([]db.Viewer, error) { return c.ops().driver.ApplLockViewers(ctx, params) },
			goOn: func(last db.Viewer) {
				params.AfterType, params.AfterID = last.ObjectType, last.ObjectID
				params.AfterOperatorID, params.AfterClientID = last.OperatorID, last.ClientID
			},
			item:  viewerOf,
			wants: func(viewer Viewer) bool { return keys.contains(viewer.Object) },
			ends:  func(viewer Viewer) bool { return keys.endsAt(viewer.Object) },
		}
		list.each(ctx, c.ops(), yield)
	}
}

func (r ViewersRequest) params() (db.ListedParams, keyRange, error) {
	return WaitersRequest{
		ObjectType: r.ObjectType, ObjectID: r.ObjectID, Prefix: r.Prefix,
		Operator: r.Operator, Department: r.Department, NoDepartment: r.NoDepartment, PageSize: r.PageSize,
	}.params()
}

func viewerOf(row db.Viewer) Viewer {
	return Viewer{
		Object: Object{Type: row.ObjectType, ID: row.ObjectID},
		Owner:  Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Client: row.ClientID,
		State:  PresenceState(row.State),
		Since:  row.SinceTS.Time,
		Left:   seconds(row.SecondsLeft),
	}
}
