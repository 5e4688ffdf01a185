package mysql

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// SerializeApplLock calls serialize_appl_lock_row, whose only answer is 'Y'.
func (d *Driver) SerializeApplLock(ctx context.Context, params db.SerializeApplLockParams) error {
	var okFL db.Flag
	return d.call(ctx, "serialize_appl_lock_row", []any{params.ObjectType, params.ObjectID}, into(&okFL))
}
