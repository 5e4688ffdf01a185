package sqlite

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// InboxApplLocks runs the statement of inbox_appl_locks.
func (d *Driver) InboxApplLocks(ctx context.Context, params db.InboxApplLocksParams) ([]db.Notice, error) {
	after, err := positionOf(params.Position)
	if err != nil {
		return nil, err
	}
	rows, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.InboxApplLocksRow, error) {
		return d.queries().InboxApplLocks(ctx, queries.InboxApplLocksParams{
			OperatorID:   params.OperatorID,
			AfterEventID: after,
			MaxRows:      params.MaxRows,
		})
	})
	if err != nil {
		return nil, err
	}
	notices := make([]db.Notice, len(rows))
	for _, row := range rows {
		switch {
		case int64(len(rows)) < params.MaxRows:
			after = max(after, row.LastEventID)
		case row.EventID != 0: // there may be events after the page
			after = row.EventID
		}
	}
	next := strconv.FormatInt(after, 10)
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
			NextPosition:      next,
			Message:           row.Message,
			ClientID:          row.ClientID,
			Fence:             row.Fence,
		}
	}
	return notices, d.show(ctx, rows)
}

// positionOf returns the first number of a position. Any event up to it is told, and none behind it, since one transaction writes at a time.
func positionOf(position string) (int64, error) {
	if position == "" {
		return 0, nil
	}
	first, _, _ := strings.Cut(position, ",")
	after, err := strconv.ParseInt(first, 10, 64)
	if err != nil || !regexp.MustCompile("^[0-9]{1,18}(,[0-9]+(-[0-9]+)?)*$").MatchString(position) {
		return 0, &db.Error{
			Kind: db.KindInvalid, Err: errors.New("inbox_appl_locks: p_position is not one of its answers"),
		}
	}
	return after, nil
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
