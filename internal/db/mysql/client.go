package mysql

import (
	"context"
	"database/sql"
	"math"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// call calls a routine and passes each row of its result sets to scan.
func (d *Driver) call(ctx context.Context, routine string, args []any, scan func(row *sql.Rows) error) error {
	return d.on(ctx, d.calling(ctx, routine, args, scan))
}

// renewers is the most connections of the pool that are kept for renewals. They are never more than half.
const renewers = 2

// spare is how many connections of the pool may be kept: none if it has no limit or only one.
func (d *Driver) spare() int {
	if d.tx != nil {
		return 0
	}
	return d.handle.Stats().MaxOpenConnections / 2
}

// prepareToRenew makes a connection for renewals.
func (d *Driver) prepareToRenew(ctx context.Context) error {
	if d.spare() == 0 {
		return nil
	}
	conn, err := d.renewing.Take(ctx, 1)
	if err != nil {
		return d.notFree(ctx, err)
	}
	d.renewing.Put(conn)
	return nil
}

// callToRenew is call on a connection that is kept for renewals, if the pool can spare one.
func (d *Driver) callToRenew(ctx context.Context, routine string, args []any, scan func(row *sql.Rows) error) error {
	spare := d.spare()
	if spare == 0 {
		return d.call(ctx, routine, args, scan)
	}
	conn, err := d.renewing.Take(ctx, spare)
	if err != nil {
		return d.notFree(ctx, err)
	}
	err = d.onConn(ctx, conn, d.calling(ctx, routine, args, scan))
	isOpen := conn.Raw(func(any) error { return nil }) == nil
	d.renewing.GiveBack(conn, err == nil && isOpen)
	return err
}

// read runs a generated query on a view.
func read[R any](ctx context.Context, d *Driver, query func(*queries.Queries) ([]R, error)) (rows []R, err error) {
	err = d.on(ctx, func(client queries.DBTX) error {
		rows, err = query(queries.New(inSchema{client, d.statements}))
		return err
	})
	return rows, err
}

// inSchema adds the schema to the queries that sqlc makes without one.
type inSchema struct {
	queries.DBTX
	statements *db.Statements
}

func (c inSchema) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.DBTX.QueryContext(ctx, c.statements.Qualified(query), args...)
}

// on runs work in the transaction, or on a connection of the pool. If there is no connection, nothing was sent.
func (d *Driver) on(ctx context.Context, work func(client queries.DBTX) error) error {
	if d.tx != nil {
		return d.interpret(work(d.tx))
	}
	conn, err := d.connect(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	return d.onConn(ctx, conn, work)
}

// connect takes a connection of the pool.
func (d *Driver) connect(ctx context.Context) (*sql.Conn, error) {
	defer db.Connects(ctx, func() bool { return db.AllInUse(d.handle) })()
	return d.handle.Conn(ctx)
}

// onConn runs work in autocommit on a connection of the pool, and closes the connection if a transaction may still be open on it.
func (d *Driver) onConn(ctx context.Context, conn *sql.Conn, work func(client queries.DBTX) error) error {
	undo, err := d.settings.switchOn(ctx, conn)
	if err != nil {
		return err
	}
	err = work(conn)
	if leavesTransaction(err) {
		giveUp(conn)
	} else {
		finish(ctx, conn, undo...)
	}
	return d.interpret(err)
}

// calling returns the work of a call, for on or onConn.
func (d *Driver) calling(
	ctx context.Context, routine string, args []any, scan func(row *sql.Rows) error,
) func(client queries.DBTX) error {
	if d.schema != "" {
		routine = d.schema + "." + routine
	}
	text := "CALL " + routine + "(" + strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ") + ")"
	return func(client queries.DBTX) error {
		rows, err := client.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // Err reports what matters
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
				if err := scan(rows); err != nil {
					return err
				}
			}
		}
		return rows.Err()
	}
}

// limit converts the size of a page, which the façade has checked.
func limit(rows int64) int32 { return int32(min(rows, math.MaxInt32)) } //nolint:gosec // see min
