package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// AssertApplLock calls assert_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AssertApplLock(ctx context.Context, params db.AssertApplLockParams) error {
	var okFL db.Flag
	return d.call(ctx, func(q *queries.Queries) error {
		return q.AssertApplLock(ctx, queries.AssertApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			Fence:      params.Fence,
		})
	}, into(&okFL))
}
