package mysql

import (
	"context"
	"encoding/json"

	"github.com/applock/applock/internal/db"
)

// GetApplLocks calls get_appl_lock_rows, which answers with a result set for each of params.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.Result, error) {
	gets, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	// As a string: bytes have no character set and are not accepted as JSON.
	return db.Rows(ctx, d.call, "get_appl_lock_rows", []any{string(gets)}, (*db.Result).Get)
}
