package mysql

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/applock/applock/internal/db"
)

// GetApplLock calls get_appl_lock_row.
func (d *Driver) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.GetApplLockResult, error) {
	var result db.GetApplLockResult
	err := d.call(ctx, "get_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, nullIfEmpty(params.DepartmentID),
		nullIfZero(params.TTLSeconds), nullIfEmpty(newFL(params.NewFL)),
	}, func(row *sql.Rows) error { return scanGet(row, &result) })
	if err != nil {
		return db.GetApplLockResult{}, err
	}
	return result, nil
}

// GetApplLocks calls get_appl_lock_rows, which answers with a result set for each of params.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.GetApplLockResult, error) {
	gets, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	results := make([]db.GetApplLockResult, 0, len(params))
	// As a string: bytes have no character set and are not accepted as JSON.
	err = d.call(ctx, "get_appl_lock_rows", []any{string(gets)}, func(row *sql.Rows) error {
		var result db.GetApplLockResult
		err := scanGet(row, &result)
		results = append(results, result)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func scanGet(row *sql.Rows, result *db.GetApplLockResult) error {
	return row.Scan(
		&result.OkFL, &result.Outcome, &result.OldOperatorID, &result.OldDepartmentID, &result.Fence,
		db.UTC(&result.ExpiresTS), &result.SecondsLeft, &result.Note,
	)
}

func newFL(isNew bool) string {
	if isNew {
		return "Y"
	}
	return ""
}
