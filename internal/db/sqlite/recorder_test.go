package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// recorded returns a driver on a handle of one connection, with a recorder of what SQLite is given; a thousand customers are locked,
// but not 500.
func recorded(t *testing.T) (*recorder, *sql.DB, db.Driver) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded.db")
	plain, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	recorder := &recorder{}
	handle := sql.OpenDB(recordingConnector{
		recorder: recorder, driver: plain.Driver(), dsn: "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(off)",
	})
	t.Cleanup(func() { _ = handle.Close() })
	handle.SetMaxOpenConns(1)
	client := testclient.SQLite(t, handle)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	lockMany(t, handle, "", 1000)
	if _, err := handle.ExecContext(t.Context(), "DELETE FROM appl_lock WHERE object_id = '500'"); err != nil {
		t.Fatal(err)
	}
	return recorder, handle, clients.Driver(client)
}

// lockMany locks customers of numbers from 1 on, behind a prefix.
func lockMany(t *testing.T, handle *sql.DB, prefix string, many int) {
	t.Helper()
	_, err := handle.ExecContext(t.Context(), `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT OR IGNORE INTO appl_lock
		SELECT 'customer', ?1 || printf(iif(?1 = '', '%d', '%07d'), i), 'JDOE', '', i, 0, 0, 60, 4102444800000000, '', 'N', NULL FROM n`, prefix, many)
	if err != nil {
		t.Fatal(err)
	}
}

// recorder counts what SQLite's driver is given, by one goroutine at a time.
type recorder struct {
	mutex            sync.Mutex
	prepared, closed int
	earlier          int // prepared before forget
	ran              []ranStatement
	last             int
	hook             func()
}

// ranStatement is a statement with its arguments, and how many pages it has looked at.
type ranStatement struct {
	text  string
	args  []driver.NamedValue
	pages int
}

func (r *recorder) forget() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.earlier, r.ran, r.last, r.hook = r.prepared, nil, 0, nil
}

// before calls a function when the statement of this number, from 1, is about to run.
func (r *recorder) before(number int, hook func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.last, r.hook = number, hook
}

// counts returns how many statements were prepared and run since forget.
func (r *recorder) counts() (prepared, ran int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.prepared - r.earlier, len(r.ran)
}

// open is how many statements are prepared and not closed.
func (r *recorder) open() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.prepared - r.closed
}

// String names the statements that were run since forget.
func (r *recorder) String() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var names []string
	for _, each := range r.ran {
		first, _, _ := strings.Cut(each.text, "\n")
		names = append(names, strings.TrimPrefix(first, "-- name: "))
	}
	return strings.Join(names, ", ")
}

func (r *recorder) running(text string, args []driver.NamedValue) (number int) {
	r.mutex.Lock()
	r.ran = append(r.ran, ranStatement{text: text, args: args})
	number = len(r.ran)
	hook := r.hook
	if number != r.last {
		hook = nil
	}
	r.mutex.Unlock()
	if hook != nil {
		hook()
	}
	return number
}

func (r *recorder) looked(number, pages int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if number <= len(r.ran) {
		r.ran[number-1].pages = pages
	}
}

// recordingConnector makes connections of SQLite's driver that are recorded.
type recordingConnector struct {
	recorder *recorder
	driver   driver.Driver
	dsn      string
}

func (c recordingConnector) Driver() driver.Driver { return c.driver }

func (c recordingConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	return recordingConn{conn, c.recorder}, err
}

// recordingConn can run nothing that was not prepared: database/sql then prepares it, for one time.
type recordingConn struct {
	driver.Conn
	recorder *recorder
}

func (c recordingConn) Prepare(text string) (driver.Stmt, error) {
	statement, err := c.Conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	c.recorder.mutex.Lock()
	c.recorder.prepared++
	c.recorder.mutex.Unlock()
	return recordingStmt{Stmt: statement, text: text, conn: c}, nil
}

// pages is how many pages the connection has looked at.
func (c recordingConn) pages() int {
	status := c.Conn.(sqlite.DBStatus) //nolint:forcetypeassert // documented
	hits, _, hitsErr := status.Status(sqlite.DBStatusCacheHit, false)
	misses, _, missesErr := status.Status(sqlite.DBStatusCacheMiss, false)
	if err := errors.Join(hitsErr, missesErr); err != nil {
		panic(err)
	}
	return hits + misses
}

type recordingStmt struct {
	driver.Stmt
	text string
	conn recordingConn
}

func (s recordingStmt) Close() error {
	s.conn.recorder.mutex.Lock()
	s.conn.recorder.closed++
	s.conn.recorder.mutex.Unlock()
	return s.Stmt.Close()
}

func (s recordingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	before := s.conn.pages()
	number := s.conn.recorder.running(s.text, args)
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args) //nolint:forcetypeassert // it is one
	s.conn.recorder.looked(number, s.conn.pages()-before)
	return result, err
}

func (s recordingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	before := s.conn.pages()
	number := s.conn.recorder.running(s.text, args)
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args) //nolint:forcetypeassert // it is one
	if err != nil {
		return nil, err
	}
	return recordingRows{rows, func() { s.conn.recorder.looked(number, s.conn.pages()-before) }}, nil
}

type recordingRows struct {
	driver.Rows
	closed func()
}

func (r recordingRows) Close() error {
	err := r.Rows.Close()
	r.closed()
	return err
}
