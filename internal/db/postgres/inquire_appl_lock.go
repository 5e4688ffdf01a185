package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// InquireApplLock calls inquire_appl_lock_row.
func (d *Driver) InquireApplLock(ctx context.Context, params db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	row, err := call(ctx, d, func(q *queries.Queries) (queries.InquireApplLockRow, error) {
		return q.InquireApplLock(ctx, params.ObjectType, params.ObjectID)
	})
	if err != nil {
		return db.InquireApplLockResult{}, err
	}
	result := db.InquireApplLockResult{OkFL: row.OkFL}
	if result.OkFL == db.Yes {
		result.Lock = db.Lock{
			ObjectType:   params.ObjectType,
			ObjectID:     params.ObjectID,
			OperatorID:   row.OperatorID,
			DepartmentID: row.DepartmentID,
			Fence:        row.Fence,
			AcquiredTS:   row.AcquiredTS,
			LockTS:       row.LockTS,
			ExpiresTS:    row.ExpiresTS,
			SecondsLeft:  row.SecondsLeft,
			Note:         row.Note,
		}
	}
	return result, nil
}
