package postgres

import (
	"context"
	"encoding/json"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.Result, error) {
	return call(ctx, d, func(q *queries.Queries) (db.Result, error) {
		row, err := q.GetApplLock(
			ctx, params.ObjectType, params.ObjectID, params.OperatorID, nullIfEmpty(params.DepartmentID),
			nullIfZero(params.TTLSeconds), yesOrNull(params.NewFL),
		)
		return db.Result(row), err
	})
}

// GetApplLocks calls get_appl_lock_row for each of params in one statement. The nested loop over the list keeps its order.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.Result, error) {
	gets, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	rows, err := call(ctx, d, func(q *queries.Queries) ([]queries.GetApplLocksRow, error) {
		return q.GetApplLocks(ctx, string(gets))
	})
	return db.Converted(rows, err, func(row queries.GetApplLocksRow) db.Result { return db.Result(row) })
}
