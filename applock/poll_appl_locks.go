package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// poll returns the objects that the program waits for, those first that are free or will be soonest, and keeps its
// waiters listed. Zero maxRows is DefaultPageSize.
func (c *Client) poll(ctx context.Context, clientID string, maxRows int) ([]db.AwaitedObject, error) {
	rows, err := checkRows(maxRows)
	if err != nil {
		return nil, fmt.Errorf("poll: %w", err)
	}
	params := db.PollApplLocksParams{ClientID: clientID, MaxRows: rows}
	awaited, err := settle(ctx, c, func() ([]db.AwaitedObject, error) { return c.driver.PollApplLocks(ctx, params) })
	if err != nil {
		return nil, fmt.Errorf("poll: %w", c.readError(err)) // what it changes, the next one changes
	}
	c.log(ctx, "poll_appl_locks", slog.Int("rows", len(awaited)))
	return awaited, nil
}
