package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AssertApplLock calls assert_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AssertApplLock(ctx context.Context, params db.AssertApplLockParams) error {
	_, err := call(ctx, d, func(q *queries.Queries) (string, error) {
		return q.AssertApplLock(ctx, params.ObjectType, params.ObjectID, params.OperatorID, params.Fence)
	})
	return err
}
