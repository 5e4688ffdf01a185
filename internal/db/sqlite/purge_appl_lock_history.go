package sqlite

import (
	"context"
	"strconv"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLockHistory finds old events, and then removes them and records that in one transaction. The search blocks nobody.
func (d *Driver) PurgeApplLockHistory(ctx context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	first, last, err := d.oldEvents(ctx, params)
	if err != nil || last == 0 {
		return db.PurgeResult{}, err
	}
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) (db.PurgeResult, error) {
		purged, err := d.queries().PurgeApplLockHistory(ctx, queries.PurgeApplLockHistoryParams{FirstEventID: first, LastEventID: last})
		if err != nil || purged == 0 {
			return db.PurgeResult{}, err
		}
		return db.PurgeResult{Purged: purged},
			d.record(ctx, db.Event{Event: db.EventHistoryPurged, Reason: strconv.FormatInt(purged, 10)})
	})
}

// oldEvents returns the first and the last event to remove, zero for none. It stops reading at the first young one.
func (d *Driver) oldEvents(ctx context.Context, params db.PurgeParams) (first, last int64, err error) {
	var after, found int64
	for {
		events, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.PurgeApplLockHistoryNextRow, error) {
			return d.queries().PurgeApplLockHistoryNext(ctx, queries.PurgeApplLockHistoryNextParams{
				OlderThanSeconds: params.OlderThanSeconds, BehindID: after, MaxRows: params.MaxRows,
			})
		})
		if err != nil {
			return 0, 0, err
		}
		for _, event := range events {
			if event.IsOld == 0 || found == params.MaxRows {
				return first, last, nil
			}
			after = event.EventID
			if event.Stays != 0 {
				continue
			}
			if found == 0 {
				first = event.EventID
			}
			last = event.EventID
			found++
		}
		if int64(len(events)) < params.MaxRows {
			return first, last, nil
		}
	}
}
