package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// TransferApplLock calls transfer_appl_lock_row.
func (d *Driver) TransferApplLock(ctx context.Context, params db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	var result db.TransferApplLockResult
	err := d.call(ctx, func(q *queries.Queries) error {
		return q.TransferApplLock(ctx, queries.TransferApplLockParams{
			ObjectType:     params.ObjectType,
			ObjectID:       params.ObjectID,
			FromOperatorID: params.FromOperatorID,
			ToOperatorID:   params.ToOperatorID,
			ToDepartmentID: params.ToDepartmentID,
			TtlSeconds:     nullIfZero(params.TTLSeconds),
			ActorID:        nullIfEmpty(params.ActorID),
			Reason:         nullIfEmpty(params.Reason),
		})
	}, into(
		&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft,
	))
	if err != nil {
		return db.TransferApplLockResult{}, err
	}
	return result, nil
}
