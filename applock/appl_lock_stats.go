package applock

import (
	"context"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// Stats is what there is of one type and department: of the locks those of the holder's department, of the waiters those of their
// own. Durations are whole seconds by the database's clock at the answer, zero for none.
type Stats struct {
	ObjectType string
	// Department is empty for those who have none, and for what is free.
	Department string
	// Live is how many locks there are; Expired how many rows of objects that are free again and have not been purged. Both
	// together, of all types and departments, are the rows of the table.
	Live    int64
	Expired int64
	// Oldest is the age of the oldest live grant, rounded down.
	Oldest time.Duration
	// NextExpiry is how long the live lock lasts that ends first, rounded up.
	NextExpiry time.Duration
	// Waiters is how many wait, and LongestWait for how long the first of them has, rounded down.
	Waiters     int64
	LongestWait time.Duration
}

// StatsRequest selects types and departments. An empty field selects any.
type StatsRequest struct {
	ObjectType string
	Department string
	// NoDepartment selects what belongs to no department.
	NoDepartment bool
}

// Stats counts locks and waiters by type and department, in the order of their bytes. A pair without any has no row. It reads whole tables,
// or one type's part, without locking: call it once a minute, not for each request.
func (c *Client) Stats(ctx context.Context, request StatsRequest) (stats []Stats, err error) {
	defer begin(&err, "stats: %w")
	params, err := request.params()
	if err != nil {
		return nil, err
	}
	o := c.ops()
	rows, err := read(ctx, o, db.Driver.ApplLockStats, params)
	if err != nil {
		return nil, err
	}
	o.log(ctx, "appl_lock_stats", slog.Int("rows", len(rows)))
	return db.Converted(rows, nil, func(row db.Stats) Stats {
		return Stats{
			ObjectType:  row.ObjectType,
			Department:  row.DepartmentID,
			Live:        row.Live,
			Expired:     row.Expired,
			Oldest:      seconds(row.OldestSeconds),
			NextExpiry:  seconds(row.NextExpirySeconds),
			Waiters:     row.Waiters,
			LongestWait: seconds(row.LongestWaitSeconds),
		}
	})
}

func (r StatsRequest) params() (db.ApplLockStatsParams, error) {
	var c checks
	return db.ApplLockStatsParams{
		ObjectType:   c.text(checkAnyType(r.ObjectType)),
		DepartmentID: c.department(checkDepartment(r.Department, r.NoDepartment)),
	}, c.err
}
