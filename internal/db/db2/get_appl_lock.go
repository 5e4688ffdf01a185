package db2

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// GetApplLocks makes a call for each of params: a routine for a list would not be worth its size here.
func (d *Driver) GetApplLocks(ctx context.Context, params []db.GetApplLockParams) ([]db.Result, error) {
	results := make([]db.Result, len(params))
	for i := range params {
		var err error
		if results[i], err = d.GetApplLock(ctx, params[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}
