package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// SerializeApplLock calls serialize_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) SerializeApplLock(ctx context.Context, params db.SerializeApplLockParams) error {
	_, err := call(ctx, d, func(q *queries.Queries) (string, error) {
		return q.SerializeApplLock(ctx, params.ObjectType, params.ObjectID)
	})
	return err
}
