package mysql

import (
	"context"
	"database/sql"

	"github.com/applock/applock/internal/db"
)

// InboxApplLocks calls inbox_appl_locks.
func (d *Driver) InboxApplLocks(ctx context.Context, params db.InboxApplLocksParams) ([]db.Notice, error) {
	var notices []db.Notice
	err := d.call(ctx, "inbox_appl_locks", []any{params.OperatorID, nullIfZero(params.AfterEventID), params.MaxRows}, func(row *sql.Rows) error {
		var notice db.Notice
		err := row.Scan(
			&notice.Kind, &notice.EventID, &notice.ObjectType, &notice.ObjectID, &notice.OtherOperatorID,
			&notice.OtherDepartmentID, db.UTC(&notice.EventTS), &notice.SecondsLeft, &notice.Reason,
			&notice.SafeEventID, &notice.Message, &notice.ClientID, &notice.Fence,
		)
		notices = append(notices, notice)
		return err
	})
	if err != nil {
		return nil, err
	}
	return notices, nil
}
