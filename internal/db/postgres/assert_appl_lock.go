package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// AssertApplLock calls assert_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AssertApplLock(ctx context.Context, params db.AssertApplLockParams) error {
	_, err := call(ctx, d, (*queries.Queries).AssertApplLock, queries.AssertApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      params.Fence,
	})
	return err
}
