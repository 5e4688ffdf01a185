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
	return withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) (db.InquireApplLockResult, error) {
		return d.inquire(ctx, params.ObjectType, params.ObjectID)
	})
}

// inquire is the statement, for operations that begin with it.
func (d *Driver) inquire(ctx context.Context, objectType, objectID string) (db.InquireApplLockResult, error) {
	row, err := d.queries().InquireApplLock(ctx, queries.InquireApplLockParams{ObjectType: objectType, ObjectID: objectID})
	if errors.Is(err, sql.ErrNoRows) {
		return db.InquireApplLockResult{ReturnCD: db.No}, nil
	}
	if err != nil {
		return db.InquireApplLockResult{}, err
	}
	return db.InquireApplLockResult{ReturnCD: db.Yes, Lock: lock(row)}, nil
}
