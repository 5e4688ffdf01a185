package applock

import (
	"context"
	"fmt"
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
func (c *Client) Stats(ctx context.Context, request StatsRequest) ([]Stats, error) {
	params, err := request.params()
	if err != nil {
		return nil, fmt.Errorf("stats: %w", err)
	}
	o := c.operations
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.Stats, error) { return o.driver.ApplLockStats(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("stats: %w", o.readError(err))
	}
	o.log(ctx, "appl_lock_stats", slog.Int("rows", len(rows)))
	stats := make([]Stats, len(rows))
	for i, row := range rows {
		stats[i] = statsOf(row)
	}
	return stats, nil
}

func (r StatsRequest) params() (db.ApplLockStatsParams, error) {
	var params db.ApplLockStatsParams
	var err error
	if r.ObjectType != "" {
		if params.ObjectType, err = checkObjectType("ObjectType", r.ObjectType); err != nil {
			return params, err
		}
	}
	params.DepartmentID, err = checkDepartment(r.Department, r.NoDepartment)
	return params, err
}

func statsOf(row db.Stats) Stats {
	return Stats{
		ObjectType:  row.ObjectType,
		Department:  row.DepartmentID,
		Live:        row.Live,
		Expired:     row.Expired,
		Oldest:      time.Duration(row.OldestSeconds) * time.Second,
		NextExpiry:  time.Duration(row.NextExpirySeconds) * time.Second,
		Waiters:     row.Waiters,
		LongestWait: time.Duration(row.LongestWaitSeconds) * time.Second,
	}
}
