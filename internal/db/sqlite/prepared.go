package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"

	"github.com/applock/applock/internal/db/sqlite/queries"
)

// prepared prepares each statement once, on a handle or on one connection: SQLite takes longer to parse the statements of a get than to run
// them. On a handle, database/sql prepares a statement again on each connection that runs it, and closes it with the connection.
type prepared struct {
	on    queries.DBTX
	mutex sync.Mutex
	// byText is nil once it has been closed.
	byText map[string]*sql.Stmt
}

func newPrepared(on queries.DBTX) *prepared {
	return &prepared{on: on, byText: map[string]*sql.Stmt{}}
}

// close closes the prepared statements. Later statements run unprepared.
func (p *prepared) close() {
	p.mutex.Lock()
	statements := p.byText
	p.byText = nil
	p.mutex.Unlock()
	for _, statement := range statements {
		_ = statement.Close() // it has run, or has returned its error
	}
}

// statement returns a prepared statement. It returns nil if preparing fails; running the text then returns the error.
func (p *prepared) statement(ctx context.Context, text string) *sql.Stmt {
	statement, closed := p.find(text)
	if statement != nil || closed {
		return statement
	}
	made, err := p.on.PrepareContext(ctx, text) // unlocked: it may wait for a connection
	if err != nil {
		return nil
	}
	p.mutex.Lock()
	statement = p.byText[text]
	if statement == nil && p.byText != nil {
		statement, p.byText[text] = made, made
	}
	p.mutex.Unlock()
	if statement != made { // another call was faster, or prepared is closed
		_ = made.Close() //nolint:sqlclosecheck // the others stay
	}
	return statement
}

func (p *prepared) find(text string) (statement *sql.Stmt, closed bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.byText[text], p.byText == nil
}

// ExecContext implements queries.DBTX.
func (p *prepared) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	ctx = uncutOnceBegun(ctx, args)
	if statement := p.statement(ctx, text); statement != nil { //nolint:sqlclosecheck // it stays
		return statement.ExecContext(ctx, args...)
	}
	return p.on.ExecContext(ctx, text, args...)
}

// QueryContext implements queries.DBTX.
func (p *prepared) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	ctx = uncutOnceBegun(ctx, args)
	if statement := p.statement(ctx, text); statement != nil { //nolint:sqlclosecheck // it stays
		return statement.QueryContext(ctx, args...)
	}
	return p.on.QueryContext(ctx, text, args...)
}

// QueryRowContext implements queries.DBTX.
func (p *prepared) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	ctx = uncutOnceBegun(ctx, args)
	if statement := p.statement(ctx, text); statement != nil { //nolint:sqlclosecheck // it stays
		return statement.QueryRowContext(ctx, args...)
	}
	return p.on.QueryRowContext(ctx, text, args...)
}

// PrepareContext implements queries.DBTX, which sqlc's code does not call.
func (p *prepared) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	return p.on.PrepareContext(ctx, text)
}

// uncutOnceBegun returns a context that ends with ctx while a statement waits for a connection, and never once it runs, so that no outcome
// is unknown. It wraps the first argument: database/sql asks for its value when it has a connection, and that ends the wait. A statement
// without arguments can be cut off.
func uncutOnceBegun(ctx context.Context, args []any) context.Context {
	if ctx.Done() == nil || len(args) == 0 {
		return ctx
	}
	waiting := &waitContext{Context: ctx}
	args[0] = firstArgument{value: args[0], waiting: waiting}
	return waiting
}

// waitContext is a context that ends with its parent only until over is set.
type waitContext struct {
	context.Context
	over atomic.Bool
}

// Done implements context.Context.
func (c *waitContext) Done() <-chan struct{} {
	if c.over.Load() {
		return nil
	}
	return c.Context.Done()
}

// Err implements context.Context.
func (c *waitContext) Err() error {
	if c.over.Load() {
		return nil
	}
	return c.Context.Err()
}

// firstArgument ends the wait for a connection when its value is read.
type firstArgument struct {
	value   any
	waiting *waitContext
}

// Value implements driver.Valuer.
func (a firstArgument) Value() (driver.Value, error) {
	a.waiting.over.Store(true)
	return driver.DefaultParameterConverter.ConvertValue(a.value)
}
