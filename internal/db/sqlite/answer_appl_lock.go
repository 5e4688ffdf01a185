package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AnswerApplLock runs the statement of answer_appl_lock.
func (d *Driver) AnswerApplLock(ctx context.Context, _ db.AnswerApplLockParams) (db.AnswerApplLockResult, error) {
	return withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (db.AnswerApplLockResult, error) {
		row, err := d.queries().AnswerApplLock(ctx) // TODO: with its parameters
		return db.AnswerApplLockResult{OkFL: db.Flag(row.OkFl), Outcome: db.Outcome(row.Outcome)}, err
	})
}
