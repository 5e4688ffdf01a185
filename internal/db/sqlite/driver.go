// Package sqlite is the driver for an embedded SQLite file, on a client in pure Go.
//
// SQLite has no procedures. The statements in queries/sqlite are the operations, and this package runs them in the order of their headers.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

const (
	// busyLimit is how long an operation waits for other writers of the file, unless the driver is more Patient.
	busyLimit = 5 * time.Second
	// busyTimeout is how long SQLite itself waits. No context can interrupt that, so it is brief, and the driver retries.
	busyTimeout = 50 * time.Millisecond
)

// Driver runs the operations on one database file or in a caller's transaction.
type Driver struct {
	handle *sql.DB
	client queries.DBTX
	// pooled is true when client is the handle, outside a transaction.
	pooled bool
	// turn is held by the one operation of this process that competes for the file. The others queue, which is fair and causes no needless
	// wake-ups.
	turn chan struct{}
	// path is Open's file; empty for a caller's handle and in memory.
	path  string
	close func() error
	// patience is how long an operation waits for other writers.
	patience time.Duration
}

var (
	_ db.Driver = (*Driver)(nil)
	_ db.Passer = (*Driver)(nil)
)

// New returns a driver on the caller's handle, which the caller closes. Close closes the statements that the driver has prepared there.
func New(handle *sql.DB) *Driver {
	client := newPrepared(handle)
	closing := func() error { client.close(); return nil }
	return &Driver{handle: handle, client: client, pooled: true, turn: make(chan struct{}, 1), close: closing, patience: busyLimit}
}

// Open returns a driver for the file of a DSN such as sqlite:applock.db. Only migrating creates the file, so that a mistyped name is an
// error and not an empty database. Readers never wait (write-ahead log). A writer waits up to 5 s for other writers of the file, whatever
// object they lock.
func Open(dsn string) (*Driver, error) {
	path := strings.TrimPrefix(dsn, "sqlite:")
	if path == "" {
		return nil, errors.New("names no file: write sqlite:PATH")
	}
	if strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///") {
		return nil, errors.New(
			"has a host, and a file has none: write the path behind the colon, such as sqlite:applock.db or sqlite:/var/lib/applock.db")
	}
	if path == ":memory:" {
		handle, err := openFile(path, busyTimeout, "memory")
		if err != nil {
			return nil, err
		}
		handle.SetMaxOpenConns(1) // in memory, each connection is a database of its own
		driver := New(handle)
		driver.close = handle.Close
		return driver, nil
	}
	handle, err := openFile(path, busyTimeout, "rw")
	if err != nil {
		return nil, err
	}
	driver := New(handle)
	driver.path, driver.close = path, handle.Close
	return driver, nil
}

// Patient returns a driver that waits longer for other writers of the file: until the context of a call ends, or for this long.
func (d *Driver) Patient(patience time.Duration) *Driver {
	same := *d
	same.patience = max(busyLimit, patience)
	return &same
}

// openFile opens a file in a mode of https://www.sqlite.org/uri.html: rw does not create it, rwc does.
func openFile(path string, timeout time.Duration, mode string) (*sql.DB, error) {
	escaped := (&url.URL{Path: path}).EscapedPath()
	dsn := fmt.Sprintf(
		"file:%s?mode=%s&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)", escaped, mode, timeout.Milliseconds())
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(patientConnector{plain.Driver(), dsn, path}), plain.Close()
}

// patientConnector retries while others keep the file busy. A connection's first statement, which switches to the write-ahead log, fails
// while another process creates the file or cleans up as its last user.
type patientConnector struct {
	driver driver.Driver
	dsn    string
	path   string
}

// Driver implements driver.Connector.
func (c patientConnector) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c patientConnector) Connect(ctx context.Context) (driver.Conn, error) {
	for limit := time.Now().Add(busyLimit); ; {
		before, _ := os.Stat(c.path) // none in memory, and none before the file is created
		conn, err := c.driver.Open(c.dsn)
		var refusal *sqlite.Error
		busy := errors.As(err, &refusal) && refusal.Code()&0xff == sqlite3.SQLITE_BUSY
		if !busy || ctx.Err() != nil || time.Now().After(limit) {
			if client, known := conn.(fileClient); known && err == nil && before != nil {
				return fileConn{client, c.path, before}, nil
			}
			return conn, err
		}
		time.Sleep(time.Millisecond)
	}
}

// fileClient is what database/sql uses of a connection.
type fileClient interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// fileConn is a connection to the file that a path named when it was opened.
type fileConn struct {
	fileClient
	path string
	file os.FileInfo
}

// ResetSession gives the connection up if another file has the name now, as after a restore. Otherwise two programs could hold one lock, each in
// a file of its own.
func (c fileConn) ResetSession(ctx context.Context) error {
	if now, err := os.Stat(c.path); err != nil || !os.SameFile(c.file, now) {
		return driver.ErrBadConn
	}
	return c.fileClient.ResetSession(ctx)
}

// Close closes the handle if Open made it.
func (d *Driver) Close() error { return d.close() }

// WithSQLTx returns a driver whose operations run in the caller's transaction.
func (d *Driver) WithSQLTx(tx *sql.Tx) db.Driver {
	return &Driver{handle: d.handle, client: tx, close: func() error { return nil }}
}

// Handle returns a new handle if the driver opened the file, and the caller's otherwise. The new one lets SQLite wait longer, since a
// migration does not retry.
func (d *Driver) Handle() (db.Handle, error) {
	handle := db.Handle{Dialect: "sqlite", DB: d.handle, Interpret: d.interpretError, Close: func() error { return nil }}
	if d.path == "" {
		return handle, nil
	}
	own, err := openFile(d.path, busyLimit, "rw")
	if err != nil {
		return db.Handle{}, err
	}
	handle.DB, handle.Close, handle.Create = own, own.Close, d.create
	return handle, nil
}

// create creates the file if it is missing. Several processes may do so at once.
func (d *Driver) create(ctx context.Context) error {
	handle, err := openFile(d.path, busyLimit, "rwc")
	if err != nil {
		return err
	}
	if err = errors.Join(handle.PingContext(ctx), handle.Close()); err != nil {
		return ofFile(d.kindOf(ctx, err), err) // the caller knows that the file is missing
	}
	return nil
}

func (d *Driver) queries() *queries.Queries {
	return queries.New(d.client)
}

// withBusyRetry retries an operation while other writers keep the file busy, until its patience or ctx ends. Each statement is brief and
// runs to its end, so no outcome is unknown. Inside a transaction it does not retry: only the end of the transaction helps.
func withBusyRetry[T any](ctx context.Context, d *Driver, operation func(context.Context, *Driver) (T, error)) (T, error) {
	run := func() (T, error) {
		result, err := operation(ctx, d)
		return result, d.interpretError(ctx, err)
	}
	if !d.pooled {
		return run()
	}
	result, err := retryWhileBusy(ctx, d.patience, run)
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = db.NotFree(ctx, err, db.AllInUse(d.handle))
	}
	return result, err
}

// asWriter is withBusyRetry for an operation that certainly writes.
func asWriter[T any](ctx context.Context, d *Driver, operation func(context.Context, *Driver) (T, error)) (T, error) {
	leave, err := d.enter(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return withBusyRetry(ctx, d, operation)
}

var errQueued = errors.New("it waited behind other writers of this program")

// enter queues a writer, so that only one writer of this process at a time competes for the file. Many competing ones would starve other
// processes. A caller with a connection must not queue: the callers before it may need that connection.
func (d *Driver) enter(ctx context.Context) (leave func(), err error) {
	if !d.pooled {
		return func() {}, nil
	}
	select {
	case d.turn <- struct{}{}:
		return sync.OnceFunc(func() { <-d.turn }), nil
	case <-ctx.Done():
		return nil, waitEnded(ctx, errQueued)
	}
}

// retryWhileBusy retries run while the file is busy, until patience or ctx ends. A busy run must be brief and change nothing.
func retryWhileBusy[T any](ctx context.Context, patience time.Duration, run func() (T, error)) (T, error) {
	var none T
	for limit := time.Now().Add(patience); ; {
		result, err := run()
		if db.KindOf(err) != db.KindBusy || time.Now().After(limit) {
			return result, err
		}
		if ctx.Err() != nil {
			return none, waitEnded(ctx, err)
		}
		time.Sleep(time.Millisecond) // for handles without a busy timeout
	}
}

// waitEnded is the error of an operation whose ctx ended while it waited for other writers. Nothing has happened.
func waitEnded(ctx context.Context, err error) error {
	return &db.Error{Kind: db.KindBusy, Err: fmt.Errorf("%w: %w", ctx.Err(), err)}
}
