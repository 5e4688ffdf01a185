package sqlite

import (
	"context"
	"strconv"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// PurgeApplLockHistory runs the statement of purge_appl_lock_history, with the event in one transaction.
func (d *Driver) PurgeApplLockHistory(
	ctx context.Context, params db.PurgeApplLockHistoryParams,
) (db.PurgeApplLockHistoryResult, error) {
	return withEvent(ctx, d, func(ctx context.Context, d *Driver) (db.PurgeApplLockHistoryResult, error) {
		purged, err := d.queries().PurgeApplLockHistory(ctx, queries.PurgeApplLockHistoryParams(params))
		if err != nil || purged == 0 {
			return db.PurgeApplLockHistoryResult{}, err
		}
		return db.PurgeApplLockHistoryResult{Purged: purged},
			d.record(ctx, db.Event{Event: db.EventHistoryPurged, Reason: strconv.FormatInt(purged, 10)})
	})
}
