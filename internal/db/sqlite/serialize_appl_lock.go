package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// SerializeApplLock runs the statement of serialize_appl_lock until it succeeds. The connection's busy timeout limits one try, and ctx
// limits the wait.
func (d *Driver) SerializeApplLock(ctx context.Context, params db.SerializeApplLockParams) error {
	for {
		err := d.interpretError(ctx, d.queries().SerializeApplLock(context.WithoutCancel(ctx), queries.SerializeApplLockParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
		}))
		busy := db.KindOf(err) == db.KindBusy
		// The end of ctx has rolled back a transaction that was begun with it.
		if ctx.Err() != nil && (busy || errors.Is(err, sql.ErrTxDone)) {
			return waitEnded(ctx, err)
		}
		if !busy {
			return err
		}
		time.Sleep(time.Millisecond) // for handles without a busy timeout
	}
}
