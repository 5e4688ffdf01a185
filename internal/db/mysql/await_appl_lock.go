package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// AwaitApplLock calls await_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) AwaitApplLock(ctx context.Context, params db.AwaitApplLockParams) error {
	var returnCD db.Flag
	return d.call(ctx, func(q *queries.Queries) error {
		return q.AwaitApplLock(ctx, queries.AwaitApplLockParams{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   params.OperatorID,
			DepartmentID: params.DepartmentID,
			ClientID:     params.ClientID,
			WaitSeconds:  sql.NullInt64{Int64: params.WaitSeconds, Valid: params.WaitSeconds != 0},
		})
	}, into(&returnCD))
}
