package applock

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// DefaultPurgeAge is how long an object has been free before Purge removes its row, unless a request
// says otherwise.
const DefaultPurgeAge = 30 * 24 * time.Hour

// DefaultPurgeBatch is how many rows one transaction of Purge removes, unless a request says otherwise. Small batches keep concurrent gets
// fast; each batch writes one event. Where nobody gets locks, use a larger one.
const DefaultPurgeBatch = 50

// PurgeRequest says what Purge or PurgeHistory removes.
type PurgeRequest struct {
	// OlderThan is the least time that an object has been free, or the least age of an event, in whole seconds: 1 s to MaxTTL. Zero is
	// DefaultPurgeAge (30 days) or DefaultPurgeHistoryAge (400 days).
	OlderThan time.Duration
	// Batch is how many rows one transaction removes: 1 to MaxPageSize; zero is DefaultPurgeBatch (50), or 1000 events.
	Batch int
	// Progress, if set, is called after each batch with the number of rows removed so far.
	Progress func(purged int64)
}

// Purge removes the rows of objects that have been free for long, and returns their number. It never touches a live lock or an event;
// PurgeHistory removes events. Once no such row is left, it also removes up to
// 10,000 each of the waiters, requests and viewers that have been dead for as long, and does not count them. It works in batches until none is left, and after each batch pauses for as long as the batch took. Each
// batch is final: after an error or a cancelled ctx the number tells what was removed, and the next Purge continues. Several purges may run
// at once.
func (c *Client) Purge(ctx context.Context, request PurgeRequest) (purged int64, err error) {
	defer begin(&err, "purge: %w")
	params, err := request.params(DefaultPurgeAge, DefaultPurgeBatch)
	if err != nil {
		return 0, err
	}
	o := c.ops()
	if purged, err = o.purgeBatches(ctx, "purge_appl_locks", db.Driver.PurgeApplLocks, params, request.Progress); err != nil {
		return purged, err
	}
	// The last batch has removed as many dead waiters, requests and viewers as a batch has rows, and there may be more of them.
	params.MaxRows = MaxPageSize
	rest, err := change(ctx, o, db.Driver.PurgeApplLocks, params)
	return purged + rest.Purged, err
}

func (r PurgeRequest) params(defaultAge time.Duration, defaultBatch int) (db.PurgeParams, error) {
	var c checks
	return db.PurgeParams{
		OlderThanSeconds: c.number(checkSeconds("OlderThan", cmp.Or(r.OlderThan, defaultAge))),
		MaxRows:          c.number(checkRows("Batch", cmp.Or(r.Batch, defaultBatch))),
	}, c.err
}

// purgeBatches calls a purge of one batch until one is not full.
func (o operations) purgeBatches(
	ctx context.Context, operation string, purge func(db.Driver, context.Context, db.PurgeParams) (db.PurgeResult, error), params db.PurgeParams,
	progress func(purged int64),
) (purged int64, err error) {
	for {
		began := time.Now()
		removed, err := change(ctx, o, purge, params)
		if err != nil {
			return purged, err
		}
		purged += removed.Purged
		o.log(ctx, operation, slog.Int64("purged", purged))
		if removed.Purged == params.MaxRows {
			sleep(ctx, time.Since(began))
		}
		if progress != nil {
			progress(purged)
		}
		if removed.Purged < params.MaxRows {
			return purged, nil
		}
	}
}
