package applock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// DefaultPurgeAge is how long an object has been free before Purge removes its row, unless a request
// says otherwise.
const DefaultPurgeAge = 30 * 24 * time.Hour

// DefaultPurgeBatch is how many rows one transaction of Purge removes, unless a request says otherwise. It is small, because
// whoever gets a lock meanwhile waits for a processor, or on SQLite for the end of the transaction: beside batches of 100 the slowest
// hundredth of the gets took more than twice as long as alone on MariaDB and MySQL. It is not smaller, because each batch is an event of the
// history. Where nobody gets locks a greater batch is faster.
const DefaultPurgeBatch = 50

// PurgeRequest says what Purge or PurgeHistory removes.
type PurgeRequest struct {
	// OlderThan is how long an object has been free, or how old an event is, in whole seconds: 1 s to MaxTTL; zero is DefaultPurgeAge (30 days)
	// or DefaultPurgeHistoryAge (400 days).
	OlderThan time.Duration
	// Batch is how many rows one transaction removes: 1 to MaxPageSize; zero is DefaultPurgeBatch (50), or 1000 events.
	Batch int
	// Progress, if set, is called after each batch with the number of rows removed so far.
	Progress func(purged int64)
}

// Purge removes the rows of objects that have been free for long, and returns how many. No live lock is ever touched, and no event of the
// history: PurgeHistory removes those. It goes on batch by batch until none is left, and rests after each for as long as it took: the other half
// of the time is everybody else's. Each batch is final by itself: after an error or a cancelled ctx the number tells what was removed, and
// the next Purge goes on from there. Any number of purges may run at once.
func (c *Client) Purge(ctx context.Context, request PurgeRequest) (purged int64, err error) {
	purged, err = c.operations.purge(ctx, request)
	if err != nil {
		return purged, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

func (o operations) purge(ctx context.Context, request PurgeRequest) (purged int64, err error) {
	seconds, err := checkSeconds("OlderThan", request.OlderThan, DefaultPurgeAge)
	if err != nil {
		return 0, err
	}
	batch, err := checkRows("Batch", cmp.Or(request.Batch, DefaultPurgeBatch))
	if err != nil {
		return 0, err
	}
	params := db.PurgeApplLocksParams{OlderThanSeconds: seconds, MaxRows: batch}
	return o.purgeBatches(ctx, "purge_appl_locks", batch, request.Progress, func() (int64, error) {
		result, err := o.driver.PurgeApplLocks(ctx, params)
		return result.Purged, err
	})
}

// purgeBatches calls a purge of one batch until one is not full.
func (o operations) purgeBatches(
	ctx context.Context, operation string, batch int64, progress func(purged int64), purge func() (int64, error),
) (purged int64, err error) {
	for {
		began := time.Now()
		removed, err := retryIfUnchanged(ctx, o, purge)
		if err != nil {
			return purged, o.changeError(err)
		}
		purged += removed
		o.log(ctx, operation, slog.Int64("purged", purged))
		if removed == batch {
			sleep(ctx, time.Since(began))
		}
		if progress != nil {
			progress(purged)
		}
		if removed < batch {
			return purged, nil
		}
	}
}
