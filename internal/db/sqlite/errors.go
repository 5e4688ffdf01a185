package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// interpretError wraps an error of the SQLite client with its kind. nil and sql.ErrNoRows stay as they are.
func (d *Driver) interpretError(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var dbErr *db.Error
	if errors.As(err, &dbErr) {
		return err
	}
	if wrong := db.WrongProduct(err, db.SQLite); wrong != nil {
		return wrong
	}
	kind := d.kindOf(ctx, err)
	if kind == db.KindUnreachable && d.path != "" {
		if _, statErr := os.Stat(d.path); errors.Is(statErr, fs.ErrNotExist) {
			return &db.Error{Kind: db.KindSchema, Err: statErr} // it says more than SQLite's
		}
	}
	return ofFile(kind, err)
}

// ofFile is an error in the words of a file.
func ofFile(kind db.Kind, err error) error {
	switch kind {
	case db.KindBusy:
		err = fmt.Errorf("%w: %w", db.ErrFileBusy, err)
	case db.KindPrivilege:
		err = fmt.Errorf("%w: %w", db.ErrFileRights, err)
	}
	return &db.Error{Kind: kind, Err: err}
}

// kindOf never returns db.KindInFlight: a statement runs to its end, or ends with its transaction.
//
// https://www.sqlite.org/rescode.html
func (d *Driver) kindOf(ctx context.Context, err error) db.Kind {
	var sqliteErr *sqlite.Error
	if !errors.As(err, &sqliteErr) {
		if db.IsClosed(err) {
			return db.KindClosed
		}
		return db.KindOther
	}
	if sqliteErr.Code() == sqlite3.SQLITE_BUSY_SNAPSHOT {
		return db.KindRetry
	}
	switch sqliteErr.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return db.KindBusy
	case sqlite3.SQLITE_CANTOPEN:
		return db.KindUnreachable
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return db.KindPrivilege
	case sqlite3.SQLITE_ERROR:
		// SQLite reports a missing table or view only in the error's text, so look for them.
		if installed, err := isInstalled(ctx, d.client); err == nil && !installed {
			return db.KindSchema
		}
	}
	return db.KindOther
}

// isInstalled reports whether all tables and views exist.
func isInstalled(ctx context.Context, client queries.DBTX) (bool, error) {
	var installed bool
	row := client.QueryRowContext(ctx, `SELECT count(*) = 14 FROM sqlite_schema WHERE name IN (
		'appl_lock', 'appl_lock_fence', 'appl_lock_waiter', 'appl_lock_ask', 'appl_lock_viewer', 'appl_lock_event', 'appl_lock_policy',
		'appl_lock_live', 'appl_lock_waiting', 'appl_lock_asking', 'appl_lock_viewers', 'appl_lock_history', 'appl_lock_policies', 'appl_lock_stats')`)
	err := row.Scan(&installed)
	return installed, err
}
