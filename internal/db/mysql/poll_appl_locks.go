package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// PollApplLocks calls poll_appl_locks.
func (d *Driver) PollApplLocks(ctx context.Context, params db.PollApplLocksParams) ([]db.AwaitedObject, error) {
	var awaited []db.AwaitedObject
	err := d.call(ctx, "poll_appl_locks", []any{params.ClientID, params.MaxRows}, func(row *sql.Rows) error {
		var object db.AwaitedObject
		err := row.Scan(&object.ObjectType, &object.ObjectID, &object.FreeInUS)
		awaited = append(awaited, object)
		return err
	})
	if err != nil {
		return nil, err
	}
	return awaited, nil
}
