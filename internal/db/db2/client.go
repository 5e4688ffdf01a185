package db2

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/applock/applock/internal/db"
)

// call calls a procedure in the transaction, or on a connection of the pool, and passes each row of its answer to read. It returns when ctx
// ends, although the client still waits for the server. Then the outcome is unknown, and the caller must not use what read has stored.
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

// ended returns an error if ctx has ended, so that nothing is sent.
func ended(ctx context.Context) error {
	if err := db.EndOf(ctx); err != nil {
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return nil
}

// abandonable runs a call and abandons it when ctx ends: the client checks a context only after the server has answered.
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

// Rows reads the whole answer and closes the cursor: under autocommit only that commits the call.
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

// GiveBack gives a connection back to the pool, or discards it if err says that it is broken.
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

// callText returns a CALL and its bound arguments. A nil argument becomes a literal NULL: the client would bind it as a string, whatever
// the parameter's type.
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

// Into scans the one row of a row form.
func Into(dest ...any) func(row *sql.Rows) error {
	return func(row *sql.Rows) error { return row.Scan(dest...) }
}
