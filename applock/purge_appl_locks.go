package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// DefaultPurgeAge is how long an object has been free before Purge removes its row, unless a request
// says otherwise.
const DefaultPurgeAge = 30 * 24 * time.Hour

// PurgeRequest removes the rows of objects that have been free for long. No live lock is ever touched.
type PurgeRequest struct {
	// OlderThan is how long the object has been free, in whole seconds: 1 s to MaxTTL; zero is
	// DefaultPurgeAge (30 days).
	OlderThan time.Duration
	// Batch is how many rows one transaction removes: 1 to MaxPageSize, zero is DefaultPageSize.
	Batch int
	// Progress, if set, is called after each batch with the number of rows removed so far.
	Progress func(purged int64)
}

// Purge removes rows batch by batch until none is left and returns their number. Each batch is final
// by itself: after an error or a cancelled ctx the number tells what was removed, and the next Purge
// goes on from there. Any number of purges may run at once.
func (c *Client) Purge(ctx context.Context, request PurgeRequest) (int64, error) {
	seconds, err := checkSeconds("older_than_seconds", request.OlderThan, DefaultPurgeAge)
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	batch, err := checkRows(request.Batch)
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	params := db.PurgeApplLocksParams{OlderThanSeconds: seconds, MaxRows: batch}
	var purged int64
	for {
		if err := ctx.Err(); err != nil {
			return purged, fmt.Errorf("purge: %w", err) // each batch is final: nothing is unknown
		}
		result, err := settle(ctx, c, func() (db.PurgeApplLocksResult, error) { return c.driver.PurgeApplLocks(ctx, params) })
		if err != nil {
			return purged, fmt.Errorf("purge: %w", c.changeError(err))
		}
		purged += result.Purged
		c.log(ctx, "purge_appl_locks", slog.Int64("purged", purged))
		if request.Progress != nil {
			request.Progress(purged)
		}
		if result.Purged < batch {
			return purged, nil
		}
	}
}
