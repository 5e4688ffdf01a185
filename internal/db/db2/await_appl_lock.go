package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// AwaitApplLock calls await_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AwaitApplLock(ctx context.Context, params db.AwaitApplLockParams) error {
	var returnCD db.Flag
	return d.call(ctx, "await_appl_lock_row",
		[]any{
			params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
			nullIfZero(params.WaitSeconds),
		},
		Into(&returnCD))
}
