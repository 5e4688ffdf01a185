package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLocks finds old rows, and then removes them and records that in one transaction. The search blocks nobody.
func (d *Driver) PurgeApplLocks(ctx context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	var purged int64
	for left := params.MaxRows; left > 0; left = params.MaxRows - purged {
		due, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PurgeApplLocksDueRow, error) {
			return d.queries().PurgeApplLocksDue(ctx, queries.PurgeApplLocksDueParams{OlderThanSeconds: params.OlderThanSeconds, MaxRows: left})
		})
		if err != nil {
			return db.PurgeResult{Purged: purged}, err
		}
		if len(due) > 0 {
			removed, err := d.purgeDue(ctx, params, due)
			purged += removed
			if err != nil {
				return db.PurgeResult{Purged: purged}, err
			}
		}
		if int64(len(due)) < left {
			return db.PurgeResult{Purged: purged}, d.purgeListed(ctx, params)
		}
	}
	return db.PurgeResult{Purged: purged}, nil
}

// purgeDue removes the rows of objects that are still due, and returns how many it removed.
func (d *Driver) purgeDue(ctx context.Context, params db.PurgeParams, due []queries.PurgeApplLocksDueRow) (int64, error) {
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) (int64, error) {
		var purged, greatest int64
		for _, object := range due {
			fence, err := d.queries().PurgeApplLocks(ctx, queries.PurgeApplLocksParams{
				ObjectType: object.ObjectType, ObjectID: object.ObjectID, OlderThanSeconds: params.OlderThanSeconds,
			})
			if errors.Is(err, sql.ErrNoRows) {
				continue // locked again since
			}
			if err != nil {
				return 0, err
			}
			greatest = max(greatest, fence)
			purged++
		}
		if purged == 0 {
			return 0, nil
		}
		if err := d.queries().PurgeApplLocksFence(ctx, queries.PurgeApplLocksFenceParams{Fence: greatest}); err != nil {
			return 0, err
		}
		return purged, d.record(ctx, db.Event{Event: db.EventPurged, Reason: strconv.FormatInt(purged, 10)})
	})
}

// purgeListed removes waiters, requests and viewers that expired long ago.
func (d *Driver) purgeListed(ctx context.Context, params db.PurgeParams) error {
	waiters, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PurgeApplLockWaitersDueRow, error) {
		return d.queries().PurgeApplLockWaitersDue(ctx, queries.PurgeApplLockWaitersDueParams(params))
	})
	if err != nil {
		return err
	}
	asks, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PurgeApplLockAsksDueRow, error) {
		return d.queries().PurgeApplLockAsksDue(ctx, queries.PurgeApplLockAsksDueParams(params))
	})
	if err != nil {
		return err
	}
	viewers, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PurgeApplLockViewersDueRow, error) {
		return d.queries().PurgeApplLockViewersDue(ctx, queries.PurgeApplLockViewersDueParams(params))
	})
	if err != nil {
		return err
	}
	older := params.OlderThanSeconds
	return errors.Join(
		removeListed(ctx, d, waiters, func(q *queries.Queries, w queries.PurgeApplLockWaitersDueRow) error {
			return q.PurgeApplLockWaiters(ctx, queries.PurgeApplLockWaitersParams{
				ObjectType: w.ObjectType, ObjectID: w.ObjectID, OperatorID: w.OperatorID, ClientID: w.ClientID, OlderThanSeconds: older,
			})
		}),
		removeListed(ctx, d, asks, func(q *queries.Queries, a queries.PurgeApplLockAsksDueRow) error {
			return q.PurgeApplLockAsks(ctx, queries.PurgeApplLockAsksParams{
				ObjectType: a.ObjectType, ObjectID: a.ObjectID, OperatorID: a.OperatorID, ClientID: a.ClientID, OlderThanSeconds: older,
			})
		}),
		removeListed(ctx, d, viewers, func(q *queries.Queries, v queries.PurgeApplLockViewersDueRow) error {
			return q.PurgeApplLockViewers(ctx, queries.PurgeApplLockViewersParams{
				ObjectType: v.ObjectType, ObjectID: v.ObjectID, OperatorID: v.OperatorID, ClientID: v.ClientID, OlderThanSeconds: older,
			})
		}),
	)
}

// removeListed removes a few rows in each transaction, so that no other writer waits for long.
func removeListed[T any](ctx context.Context, d *Driver, due []T, remove func(q *queries.Queries, row T) error) error {
	const few = 50
	for rows := range slices.Chunk(due, few) {
		_, err := inOneTx(ctx, d, func(_ context.Context, d *Driver) (struct{}, error) {
			for _, row := range rows {
				if err := remove(d.queries(), row); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
