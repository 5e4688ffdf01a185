package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// InboxApplLocks runs the statement of inbox_appl_locks.
func (d *Driver) InboxApplLocks(ctx context.Context, params db.InboxApplLocksParams) ([]db.Notice, error) {
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.InboxApplLocksRow, error) {
		return d.queries().InboxApplLocks(ctx, queries.InboxApplLocksParams{
			OperatorID:   params.OperatorID,
			AfterEventID: params.AfterEventID,
			MaxRows:      params.MaxRows,
		})
	})
	if err != nil {
		return nil, err
	}
	notices := make([]db.Notice, len(rows))
	safe := params.AfterEventID
	if last := len(rows) - 1; last >= 0 {
		safe = max(safe, rows[last].LastEventID)
		if int64(len(rows)) == params.MaxRows && rows[last].EventID != 0 { // there may be events after the page
			safe = rows[last].EventID
		}
	}
	for i, row := range rows {
		notices[i] = db.Notice{
			Kind:              row.Kind,
			EventID:           row.EventID,
			ObjectType:        row.ObjectType,
			ObjectID:          row.ObjectID,
			OtherOperatorID:   row.OtherOperatorID,
			OtherDepartmentID: row.OtherDepartmentID,
			EventTS:           db.AtMicro(row.EventTS),
			SecondsLeft:       row.SecondsLeft,
			Reason:            row.Reason,
			SafeEventID:       safe,
			Message:           row.Message,
			ClientID:          row.ClientID,
			Fence:             row.Fence,
		}
	}
	return notices, d.show(ctx, rows)
}

// show marks the requests that are shown for the first time, which starts the holder's time to answer. If another writer has the file, or
// nothing can be written, a later call does it.
func (d *Driver) show(ctx context.Context, rows []queries.InboxApplLocksRow) error {
	for _, row := range rows {
		if row.Unshown == 0 {
			continue
		}
		err := d.interpretError(ctx, d.queries().ShowApplLockAsk(ctx, queries.ShowApplLockAskParams{
			ObjectType: row.ObjectType,
			ObjectID:   row.ObjectID,
			OperatorID: row.OtherOperatorID,
			ClientID:   row.ClientID,
			Fence:      row.Fence,
		}))
		if kind := db.KindOf(err); kind == db.KindBusy || kind == db.KindReadOnly {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
