package sqlite

import (
	"context"
	"strconv"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLocks runs the statements of purge_appl_locks.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	purged, err := withEvent(ctx, d, func(ctx context.Context, d *Driver) (int64, error) { return d.purge(ctx, params) })
	return db.PurgeApplLocksResult{Purged: purged}, err
}

func (d *Driver) purge(ctx context.Context, params db.PurgeApplLocksParams) (int64, error) {
	err := d.queries().PurgeApplLockWaiters(ctx, queries.PurgeApplLockWaitersParams{
		OlderThanSeconds: params.OlderThanSeconds,
		MaxRows:          params.MaxRows,
	})
	if err != nil {
		return 0, err
	}
	err = d.queries().PurgeApplLockEvents(ctx, queries.PurgeApplLockEventsParams{
		OlderThanSeconds: params.OlderThanSeconds,
		MaxRows:          params.MaxRows,
	})
	if err != nil {
		return 0, err
	}
	purged, err := d.queries().PurgeApplLocks(ctx, queries.PurgeApplLocksParams{
		OlderThanSeconds: params.OlderThanSeconds,
		MaxRows:          params.MaxRows,
	})
	if err != nil || purged == 0 {
		return 0, err
	}
	return purged, d.record(ctx, db.Event{Event: db.EventPurged, Reason: strconv.FormatInt(purged, 10)})
}
