package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// InquireApplLock runs the statement of inquire_appl_lock.
func (d *Driver) InquireApplLock(ctx context.Context, params db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	row, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (queries.InquireApplLockRow, error) {
		return d.queries().InquireApplLock(ctx, queries.InquireApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
		})
	})
	if errors.Is(err, sql.ErrNoRows) {
		return db.InquireApplLockResult{ReturnCD: db.No}, nil
	}
	if err != nil {
		return db.InquireApplLockResult{}, err
	}
	return db.InquireApplLockResult{ReturnCD: db.Yes, Lock: lock(row)}, nil
}
