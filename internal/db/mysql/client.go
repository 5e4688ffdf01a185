package mysql

import (
	"context"
	"database/sql"
	"math"
	"strings"

	"github.com/applock/applock/internal/db/mysql/queries"
)

// call runs an operation's generated query on the transaction, or on a connection of the pool: an error
// before there is one is known to have sent nothing. read is called for each row of the answer.
func (d *Driver) call(
	ctx context.Context,
	operation func(*queries.Queries) error,
	read func(row *sql.Rows) error,
) error {
	if d.tx != nil {
		return d.interpret(operation(queries.New(callClient{DBTX: d.tx, driver: d, read: read})))
	}
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	return d.callOn(conn, operation, read)
}

// callOn runs the query on a connection of the pool, which is closed if a transaction may have been left open on it.
func (d *Driver) callOn(conn *sql.Conn, operation func(*queries.Queries) error, read func(row *sql.Rows) error) error {
	err := operation(queries.New(callClient{DBTX: conn, driver: d, read: read}))
	if leavesTransaction(err) {
		giveUp(conn)
	}
	return d.interpret(err)
}

// renewers is how many connections of the pool are kept for renewals at the most: half of them, so that others are left.
const renewers = 2

// callToRenew is call on a connection that is kept for renewals, if the pool has a limit, and can spare one.
func (d *Driver) callToRenew(
	ctx context.Context,
	operation func(*queries.Queries) error,
	read func(row *sql.Rows) error,
) error {
	spare := d.handle.Stats().MaxOpenConnections / 2
	if d.tx != nil || spare == 0 {
		return d.call(ctx, operation, read)
	}
	conn, err := d.renewing.Take(ctx, spare)
	if err != nil {
		return d.notFree(ctx, err)
	}
	if err = d.callOn(conn, operation, read); err != nil {
		d.renewing.Drop(conn)
	} else {
		d.renewing.Put(conn)
	}
	return err
}

// callClient reads the rows of a query: sqlc takes a CALL for a statement without rows, and would read times as
// only a pool that parses them can. It also names the schema in the query: sqlc has to write it without one.
type callClient struct {
	queries.DBTX
	driver *Driver
	read   func(row *sql.Rows) error
}

// ExecContext runs a query and reads its result sets; a result has nothing to tell.
func (c callClient) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	query = strings.NewReplacer(
		"\nCALL ", "\nCALL "+c.driver.qualify(""),
		"FROM appl_lock_", "FROM "+c.driver.qualify("appl_lock_"),
		"JOIN appl_lock_", "JOIN "+c.driver.qualify("appl_lock_"),
	).Replace(query)
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			if err := c.read(rows); err != nil {
				return nil, err
			}
		}
	}
	return nil, rows.Err()
}

// into reads the one row of a row form.
func into(dest ...any) func(row *sql.Rows) error {
	return func(row *sql.Rows) error { return row.Scan(dest...) }
}

// nullIfEmpty returns NULL for an empty text, which is how a filter or an optional argument is left out.
func nullIfEmpty(text string) sql.NullString {
	return sql.NullString{String: text, Valid: text != ""}
}

// nullIfNil returns NULL for a filter that is not given; an empty text is one.
func nullIfNil(text *string) sql.NullString {
	if text == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: *text, Valid: true}
}

// nullIfZero returns NULL for zero, which is how an optional number is left out.
func nullIfZero(number int64) sql.NullInt64 {
	return sql.NullInt64{Int64: number, Valid: number != 0}
}

// limit is a size of a page, which the façade has checked.
func limit(rows int64) int32 { return int32(min(rows, math.MaxInt32)) } //nolint:gosec // see min
