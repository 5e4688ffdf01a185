package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AssertApplLock calls assert_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AssertApplLock(ctx context.Context, params db.AssertApplLockParams) error {
	var okFL db.Flag
	return d.call(ctx, "assert_appl_lock_row", []any{params.ObjectType, params.ObjectID, params.OperatorID, params.Fence}, into(&okFL))
}
