package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// UnawaitApplLock calls unawait_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) UnawaitApplLock(ctx context.Context, params db.UnawaitApplLockParams) error {
	var returnCD db.Flag
	return d.call(ctx, func(q *queries.Queries) error {
		return q.UnawaitApplLock(ctx, queries.UnawaitApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			ClientID:   params.ClientID,
		})
	}, into(&returnCD))
}
