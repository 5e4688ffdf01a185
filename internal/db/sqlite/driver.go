// Package sqlite is the driver for an embedded SQLite file, on a client in pure Go.
//
// SQLite has no procedures: the statements in queries/sqlite are the operations, and this package runs
// them in the order that their headers give.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// rounds is how often an operation looks again when the object changed hands during the call.
const rounds = 3

// Driver runs the operations on one database file or in a caller's transaction.
type Driver struct {
	handle *sql.DB
	client queries.DBTX
	close  func() error
}

var _ db.Driver = (*Driver)(nil)

// New returns a driver on the caller's handle, which stays the caller's to close.
func New(handle *sql.DB) *Driver {
	return &Driver{handle: handle, client: handle, close: func() error { return nil }}
}

// Open returns a driver for the file that a DSN such as sqlite:applock.db names. The file is created
// when it is first written to. Readers never wait (write-ahead log); a writer waits up to 5 s for
// other writers of the file, because they need not have to do with its object.
func Open(_ context.Context, dsn string) (db.Driver, error) {
	path := strings.TrimPrefix(dsn, "sqlite:")
	if path == "" {
		return nil, errors.New("names no file: write sqlite:PATH")
	}
	escaped := (&url.URL{Path: path}).EscapedPath()
	handle, err := sql.Open("sqlite", "file:"+escaped+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	if path == ":memory:" {
		handle.SetMaxOpenConns(1) // each connection would be a database of its own
	}
	driver := New(handle)
	driver.close = handle.Close
	return driver, nil
}

// Close closes the handle if Open made it.
func (d *Driver) Close() error { return d.close() }

// WithTx accepts a *sql.Tx.
func (d *Driver) WithTx(tx any) (db.Driver, error) {
	sqlTx, ok := tx.(*sql.Tx)
	if !ok {
		return nil, fmt.Errorf("%w: %T, want *sql.Tx", db.ErrTxType, tx)
	}
	return &Driver{handle: d.handle, client: sqlTx, close: func() error { return nil }}, nil
}

// WithSchema returns db.ErrNoSchemas.
func (d *Driver) WithSchema(string) (db.Driver, error) {
	return nil, db.ErrNoSchemas
}

func (d *Driver) queries() *queries.Queries {
	return queries.New(d.client)
}

// utc converts the table's microseconds.
func utc(microseconds int64) time.Time {
	return time.UnixMicro(microseconds).UTC()
}

func lock(row queries.ApplLock) db.Lock {
	return db.Lock{
		ObjectType:   row.ObjectType,
		ObjectID:     row.ObjectID,
		OperatorID:   row.OperatorID,
		DepartmentID: row.DepartmentID,
		Fence:        row.Fence,
		AcquiredTS:   utc(row.AcquiredTs),
		LockTS:       utc(row.LockTs),
		ExpiresTS:    utc(row.ExpiresTs),
	}
}

func contention(operation, objectType, objectID string) error {
	return &db.Error{
		Kind: db.KindContention,
		Err:  fmt.Errorf("%s: %s:%s changed hands during the call; call again", operation, objectType, objectID),
	}
}
