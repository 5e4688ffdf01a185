package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AskApplLock runs the statement of ask_appl_lock.
func (d *Driver) AskApplLock(ctx context.Context, _ db.AskApplLockParams) (db.AskApplLockResult, error) {
	return withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (db.AskApplLockResult, error) {
		row, err := d.queries().AskApplLock(ctx) // TODO: with its parameters
		return db.AskApplLockResult{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}, err
	})
}
