package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// SeeApplLock calls see_appl_lock.
func (d *Driver) SeeApplLock(ctx context.Context, params db.SeeApplLockParams) ([]db.Presence, error) {
	var present []db.Presence
	err := d.call(ctx, "see_appl_lock", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
		nullIfEmpty(string(params.State)), nullIfZero(params.TTLSeconds),
	}, func(row *sql.Rows) error {
		var one db.Presence
		err := row.Scan(
			&one.Kind, &one.OperatorID, &one.DepartmentID, &one.ClientID, &one.State, db.UTC(&one.SinceTS), &one.SecondsLeft, &one.Message,
		)
		present = append(present, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return present, nil
}
