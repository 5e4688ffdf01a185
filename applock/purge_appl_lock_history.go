package applock

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/applock/applock/internal/db"
)

// DefaultPurgeHistoryAge is how old an event is before PurgeHistory removes it, unless a request says otherwise.
const DefaultPurgeHistoryAge = 400 * 24 * time.Hour

// PurgeHistoryRequest removes old events. Events of purges (EventPurged, EventHistoryPurged) stay for 400 days in any case.
type PurgeHistoryRequest struct {
	// OlderThan is how old an event is, in whole seconds: 1 s to MaxTTL; zero is DefaultPurgeHistoryAge (400 days).
	OlderThan time.Duration
	// Batch is how many events one transaction removes: 1 to MaxPageSize, zero is DefaultPageSize (1000).
	Batch int
	// Progress, if set, is called after each batch with the number of events removed so far.
	Progress func(purged int64)
}

// PurgeHistoryResult is what a purge of the history has done.
type PurgeHistoryResult struct {
	// Purged is how many events were removed, also when the purge ended with an error.
	Purged int64
}

// PurgeHistory removes old events, oldest first, batch by batch until none is left, and rests after each for as long as it took. It
// needs the right of an administrator. Each batch that removes events is an event itself, with their number. After an error or a
// cancelled ctx the result tells what was removed, and the next PurgeHistory goes on from there. Any number may run at once.
func (c *Client) PurgeHistory(ctx context.Context, request PurgeHistoryRequest) (PurgeHistoryResult, error) {
	purged, err := c.operations.purgeHistory(ctx, request)
	if err != nil {
		return PurgeHistoryResult{Purged: purged}, fmt.Errorf("purge history: %w", err)
	}
	return PurgeHistoryResult{Purged: purged}, nil
}

func (o operations) purgeHistory(ctx context.Context, request PurgeHistoryRequest) (purged int64, err error) {
	seconds, err := checkSeconds("OlderThan", request.OlderThan, DefaultPurgeHistoryAge)
	if err != nil {
		return 0, err
	}
	batch, err := checkRows("Batch", cmp.Or(request.Batch, DefaultPageSize))
	if err != nil {
		return 0, err
	}
	params := db.PurgeApplLockHistoryParams{OlderThanSeconds: seconds, MaxRows: batch}
	return o.purgeBatches(ctx, "purge_appl_lock_history", batch, request.Progress, func() (int64, error) {
		result, err := o.driver.PurgeApplLockHistory(ctx, params)
		return result.Purged, err
	})
}
