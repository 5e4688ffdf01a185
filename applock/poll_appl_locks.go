package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// poll returns the objects that the program waits for, those first that are free or will be soonest, and keeps its
// waiters listed. Zero maxRows is DefaultPageSize.
func (o operations) poll(ctx context.Context, clientID string, maxRows int) ([]db.AwaitedObject, error) {
	rows, err := checkRows("maxRows", maxRows)
	if err != nil {
		return nil, fmt.Errorf("poll: %w", err)
	}
	params := db.PollApplLocksParams{ClientID: clientID, MaxRows: rows}
	awaited, err := retryIfUnchanged(ctx, o, func() ([]db.AwaitedObject, error) { return o.driver.PollApplLocks(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("poll: %w", o.readError(err)) // what it changes, the next one changes
	}
	o.log(ctx, "poll_appl_locks", slog.Int("rows", len(awaited)))
	return awaited, nil
}
