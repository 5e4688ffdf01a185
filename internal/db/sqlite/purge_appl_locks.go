package sqlite

import (
	"context"
	"slices"
	"strconv"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLocks runs the statements of purge_appl_locks, with the event in one transaction.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	return withEvent(ctx, d, func(ctx context.Context, d *Driver) (db.PurgeApplLocksResult, error) {
		if err := d.queries().PurgeApplLockWaiters(ctx, queries.PurgeApplLockWaitersParams(params)); err != nil {
			return db.PurgeApplLocksResult{}, err
		}
		if err := d.queries().PurgeApplLockAsks(ctx, queries.PurgeApplLockAsksParams(params)); err != nil {
			return db.PurgeApplLocksResult{}, err
		}
		if err := d.queries().PurgeApplLockViewers(ctx, queries.PurgeApplLockViewersParams(params)); err != nil {
			return db.PurgeApplLocksResult{}, err
		}
		fences, err := d.queries().PurgeApplLocks(ctx, queries.PurgeApplLocksParams(params))
		if err != nil || len(fences) == 0 {
			return db.PurgeApplLocksResult{}, err
		}
		if err := d.queries().PurgeApplLocksFence(ctx, queries.PurgeApplLocksFenceParams{Fence: slices.Max(fences)}); err != nil {
			return db.PurgeApplLocksResult{}, err
		}
		return db.PurgeApplLocksResult{Purged: int64(len(fences))},
			d.record(ctx, db.Event{Event: db.EventPurged, Reason: strconv.Itoa(len(fences))})
	})
}
