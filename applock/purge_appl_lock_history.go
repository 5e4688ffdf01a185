package applock

import (
	"context"
	"time"

	"github.com/applock/applock/internal/db"
)

// DefaultPurgeHistoryAge is how old an event is before PurgeHistory removes it, unless a request says otherwise.
const DefaultPurgeHistoryAge = 400 * 24 * time.Hour

// PurgeHistory removes old events, oldest first, and returns their number. It works in batches until none is left, and after each batch
// pauses for as long as the batch took. It needs the role administrator. Each batch that removes events is an event itself, with their
// number; events of purges (EventPurged, EventHistoryPurged) stay for at least 400 days. After an error or a cancelled ctx the number tells
// what was removed, and the next PurgeHistory continues. Several may run at once.
func (c *Client) PurgeHistory(ctx context.Context, request PurgeRequest) (purged int64, err error) {
	defer begin(&err, "purge history: %w")
	params, err := request.params(DefaultPurgeHistoryAge, DefaultPageSize)
	if err != nil {
		return 0, err
	}
	return c.ops().purgeBatches(ctx, "purge_appl_lock_history", db.Driver.PurgeApplLockHistory, params, request.Progress)
}
