package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// UnawaitApplLock runs the statement of unawait_appl_lock.
func (d *Driver) UnawaitApplLock(ctx context.Context, params db.UnawaitApplLockParams) error {
	_, err := patiently(ctx, d, func(ctx context.Context, d *Driver) (struct{}, error) {
		return struct{}{}, d.queries().UnawaitApplLock(ctx, queries.UnawaitApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			ClientID:   params.ClientID,
		})
	})
	return err
}
