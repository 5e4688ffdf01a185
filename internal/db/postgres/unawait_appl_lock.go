package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// UnawaitApplLock calls unawait_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) UnawaitApplLock(ctx context.Context, params db.UnawaitApplLockParams) error {
	_, err := d.queries().UnawaitApplLock(ctx, queries.UnawaitApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		ClientID:   params.ClientID,
	})
	return interpretError(err)
}
