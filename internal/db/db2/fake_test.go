package db2_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"
)

// fake plays Db2 behind go_ibm_db v0.5.4, as far as it matters here: a context is looked at only when the server has answered.
type fake struct {
	// answer is what the server says; it may take its time.
	answer func(statement fakeStatement) fakeAnswer
	// lenient forgives what goose does, which reads one row and closes, and hands over its context.
	lenient bool
	pool    *sql.DB
	// refusal is what the server says to those who want to connect.
	refusal error

	mu  sync.Mutex
	log []fakeStatement
	// connections counts all there have been.
	connections                           int
	openConnections, openRows, unreadRows int
	// closed are the numbers of connections that are no more.
	closed []int
}

// fakeStatement is what has reached the server. The text of a transaction's beginning or end is BEGIN, COMMIT or
// ROLLBACK.
type fakeStatement struct {
	// conn is the number of the connection, from 1.
	conn int
	inTx bool
	text string
	args []driver.Value
}

// fakeAnswer is a result set if it has columns.
type fakeAnswer struct {
	columns []string
	rows    [][]driver.Value
	// err is the answer to the statement, rowsErr the one behind the last row, closeErr the one to closing the cursor.
	err, rowsErr, closeErr error
}

// db2Error is an error whose codes the driver reads without IBM's client.
type db2Error struct {
	state string
	code  int
	text  string
}

func (e *db2Error) Error() string    { return e.text }
func (e *db2Error) SQLState() string { return e.state }
func (e *db2Error) SQLCode() int     { return e.code }

// newFake returns a pool on a server. When the test ends nothing may be left open or half read.
func newFake(t *testing.T, answer func(statement fakeStatement) fakeAnswer) (*fake, *sql.DB) {
	t.Helper()
	server := &fake{answer: answer}
	pool := sql.OpenDB(server)
	server.pool = pool
	t.Cleanup(func() {
		if !eventually(func() bool { return pool.Stats().InUse == 0 }) {
			t.Errorf("%d connections were not given back to the pool", pool.Stats().InUse)
		}
		_ = pool.Close()
		if !eventually(func() bool { return server.open() == 0 }) {
			t.Errorf("%d connections were left open", server.open())
		}
		server.mu.Lock()
		defer server.mu.Unlock()
		if server.openRows != 0 || server.unreadRows != 0 {
			t.Errorf("%d cursors are left open, %d were closed before their end", server.openRows, server.unreadRows)
		}
	})
	return server, pool
}

// eventually waits for what database/sql does in the background.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// statements returns what has reached the server since it was asked last.
func (f *fake) statements() []fakeStatement {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	return log
}

// open returns how many connections there are.
func (f *fake) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openConnections
}

func (f *fake) isClosed(conn int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.closed, conn)
}

func (f *fake) change(count *int, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*count += by
}

// Connect implements driver.Connector.
func (f *fake) Connect(context.Context) (driver.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.connections++
	f.openConnections++
	return &fakeConn{server: f, number: f.connections}, nil
}

// Driver implements driver.Connector. Nobody needs it.
func (f *fake) Driver() driver.Driver { return nil }

func (f *fake) run(statement fakeStatement) fakeAnswer {
	f.mu.Lock()
	f.log = append(f.log, statement)
	f.mu.Unlock()
	return f.answer(statement)
}

type fakeConn struct {
	server *fake
	number int
	inTx   bool
}

var (
	_ driver.QueryerContext = (*fakeConn)(nil)
	_ driver.ExecerContext  = (*fakeConn)(nil)
)

func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }

func (c *fakeConn) Close() error {
	c.server.change(&c.server.openConnections, -1)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.closed = append(c.server.closed, c.number)
	return nil
}

func (c *fakeConn) Begin() (driver.Tx, error) {
	if c.inTx {
		return nil, errors.New("already in a transaction")
	}
	if err := c.run("BEGIN", nil).err; err != nil {
		return nil, err
	}
	c.inTx = true
	return c, nil
}

func (c *fakeConn) Commit() error   { return c.end("COMMIT") }
func (c *fakeConn) Rollback() error { return c.end("ROLLBACK") }

func (c *fakeConn) end(text string) error {
	if !c.inTx {
		return errors.New("not in a transaction")
	}
	defer func() { c.inTx = false }()
	return c.run(text, nil).err
}

func (c *fakeConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if answer := c.run(query, args); answer.err != nil {
		return nil, answer.err
	}
	return driver.RowsAffected(0), ctx.Err()
}

func (c *fakeConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	answer := c.run(query, args)
	switch {
	case answer.err != nil:
		return nil, answer.err
	case len(answer.columns) == 0:
		return nil, errors.New("Query executed successfully but did not create a result set")
	case ctx.Err() != nil && c.server.lenient:
		return nil, ctx.Err()
	}
	c.server.change(&c.server.openRows, 1) // the real one forgets the cursor if the context has ended
	return &fakeRows{server: c.server, answer: answer}, ctx.Err()
}

func (c *fakeConn) run(text string, args []driver.NamedValue) fakeAnswer {
	statement := fakeStatement{conn: c.number, inTx: c.inTx, text: text}
	for _, arg := range args {
		statement.args = append(statement.args, arg.Value)
	}
	return c.server.run(statement)
}

type fakeRows struct {
	server *fake
	answer fakeAnswer
	atEnd  bool
}

var _ driver.RowsNextResultSet = (*fakeRows)(nil)

func (r *fakeRows) Columns() []string      { return r.answer.columns }
func (r *fakeRows) HasNextResultSet() bool { return true } // so that database/sql closes nothing by itself
func (r *fakeRows) NextResultSet() error   { return io.EOF }

func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.answer.rows) == 0 {
		r.atEnd = true
		if r.answer.rowsErr != nil {
			return r.answer.rowsErr
		}
		return io.EOF
	}
	copy(dest, r.answer.rows[0])
	r.answer.rows = r.answer.rows[1:]
	return nil
}

func (r *fakeRows) Close() error {
	r.server.change(&r.server.openRows, -1)
	if !r.atEnd && !r.server.lenient {
		r.server.change(&r.server.unreadRows, 1)
	}
	return r.answer.closeErr
}
