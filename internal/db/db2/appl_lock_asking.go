package db2

import (
	"context"
	"errors"

	"github.com/applock/applock/internal/db"
)

// ApplLockAsking reads the view appl_lock_asking.
func (d *Driver) ApplLockAsking(context.Context, db.ApplLockAskingParams) ([]db.Asker, error) {
	return nil, errors.New("appl_lock_asking: TODO")
}
