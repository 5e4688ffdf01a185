package db2

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/applock/applock/internal/db"
)

// call calls a procedure in the transaction, or on a connection of the pool, and hands each row of its answer
// to read. It returns when ctx ends, although the client waits on for the server: whether the call has taken
// effect is unknown then, and nobody may look at what read has read.
func (d *Driver) call(ctx context.Context, procedure string, arguments []any, read func(row *sql.Rows) error) error {
	query, bound := callText(d.qualify(procedure), arguments)
	return d.ask(ctx, query, bound, read)
}

func (d *Driver) ask(ctx context.Context, query string, arguments []any, read func(row *sql.Rows) error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if d.tx != nil {
		err := abandonable(ctx, func(ctx context.Context) error {
			return interpretError(Rows(ctx, d.tx, query, arguments, read))
		})
		d.noteUndone(err)
		return err
	}
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	return abandonable(ctx, func(ctx context.Context) (err error) {
		defer func() { GiveBack(conn, err) }()
		return interpretError(Rows(ctx, conn, query, arguments, read))
	})
}

// ended returns an error once ctx has ended, after which nothing is sent.
func ended(ctx context.Context) error {
	if err := db.EndOf(ctx); err != nil {
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return nil
}

// abandonable runs a call and leaves it to itself when ctx ends: the client looks at a context only when the
// server has answered.
func abandonable(ctx context.Context, call func(ctx context.Context) error) error {
	answer := make(chan error, 1)
	go func() { answer <- call(context.WithoutCancel(ctx)) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return &db.Error{Kind: db.KindInFlight, Err: ctx.Err()}
	}
}

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows reads the answer to its end and closes the cursor: under autocommit the call is not committed before.
func Rows(ctx context.Context, client querier, query string, arguments []any, read func(row *sql.Rows) error) (err error) {
	rows, err := client.QueryContext(ctx, query, arguments...)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// GiveBack gives a connection back to the pool, unless err says that it is of no use any more.
func GiveBack(conn *sql.Conn, err error) {
	if isDead(err) {
		Discard(conn)
	}
	_ = conn.Close()
}

// Discard takes a connection out of the pool.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// callText returns a CALL and what is bound in it. A nil argument stands in the text: the client binds NULL as
// a string, whatever the parameter is.
func callText(procedure string, arguments []any) (string, []any) {
	var places []string
	var bound []any
	for _, argument := range arguments {
		if argument == nil {
			places = append(places, "NULL")
			continue
		}
		places = append(places, "?")
		bound = append(bound, argument)
	}
	return "CALL " + procedure + "(" + strings.Join(places, ", ") + ")", bound
}

// Into reads the one row of a row form.
func Into(dest ...any) func(row *sql.Rows) error {
	return func(row *sql.Rows) error { return row.Scan(dest...) }
}

// nullIfZero returns NULL for what the contract tells with NULL.
func nullIfZero[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}
