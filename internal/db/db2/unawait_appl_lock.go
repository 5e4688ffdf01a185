package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// UnawaitApplLock calls unawait_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) UnawaitApplLock(ctx context.Context, params db.UnawaitApplLockParams) error {
	var returnCD db.Flag
	return d.call(ctx, "unawait_appl_lock_row",
		[]any{params.ObjectType, params.ObjectID, params.OperatorID, params.ClientID},
		Into(&returnCD))
}
