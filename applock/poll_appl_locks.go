package applock

import (
	"context"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// Poll returns the objects that the program waits for, those first that are free or will be soonest, and keeps its
// waiters listed. Zero maxRows is DefaultPageSize.
func (l leased) Poll(ctx context.Context, clientID string, maxRows int) (awaited []db.AwaitedObject, err error) {
	defer begin(&err, "poll: %w")
	rows, err := checkRows("maxRows", maxRows)
	if err != nil {
		return nil, err
	}
	// What it changes, the next one changes: so an unknown outcome is no matter.
	awaited, err = read(ctx, l.operations, db.Driver.PollApplLocks, db.PollApplLocksParams{ClientID: clientID, MaxRows: rows})
	if err != nil {
		return nil, err
	}
	l.log(ctx, "poll_appl_locks", slog.Int("rows", len(awaited)))
	return awaited, nil
}
