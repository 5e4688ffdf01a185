package postgres

import (
	"context"
	"database/sql"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/applock/applock/internal/db/postgres/queries"
)

// call runs an operation's generated query in the transaction, or on a connection of the pool: an error before there is
// one is known to have sent nothing.
func call[P, R any](
	ctx context.Context, d *Driver, operation func(*queries.Queries, context.Context, P) (R, error), params P,
) (R, error) {
	if d.tx != nil {
		result, err := operation(d.queries(d.tx), ctx, params)
		return result, interpretError(err)
	}
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		var none R
		return none, d.notFree(ctx, err)
	}
	defer conn.Release()
	result, err := operation(d.queries(conn), ctx, params)
	return result, interpretError(err)
}

func (d *Driver) queries(client queries.DBTX) *queries.Queries {
	return queries.New(schemaClient{client: client, schema: d.schema})
}

// schemaClient names the schema in the generated queries, which sqlc has to write without one: so
// neither the caller's pool nor the caller's transaction needs a search_path of ours.
type schemaClient struct {
	client queries.DBTX
	schema string
}

// Each query reads from views and the version by FROM appl_lock_, or from one routine, in a FROM line of its own, or joins it in such a
// line; a test holds the queries to that.
func (c schemaClient) qualify(query string) string {
	const from, join, named = "\nFROM ", "\nCROSS JOIN LATERAL ", "FROM appl_lock_"
	switch {
	case strings.Contains(query, named):
		return strings.ReplaceAll(query, named, "FROM "+c.schema+".appl_lock_")
	case strings.Contains(query, join):
		return strings.Replace(query, join, join+c.schema+".", 1)
	}
	return strings.Replace(query, from, from+c.schema+".", 1)
}

func (c schemaClient) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return c.client.Exec(ctx, c.qualify(query), args...)
}

func (c schemaClient) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return c.client.Query(ctx, c.qualify(query), args...)
}

func (c schemaClient) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return c.client.QueryRow(ctx, c.qualify(query), args...)
}

// sqlTx lets the generated pgx code run in a database/sql transaction.
type sqlTx struct {
	tx *sql.Tx
}

func (t sqlTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	_, err := t.tx.ExecContext(ctx, query, args...)
	return pgconn.CommandTag{}, err
}

func (t sqlTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	rows, err := t.tx.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller of Query does both
	if err != nil {
		return nil, err
	}
	return sqlRows{rows: rows}, nil
}

func (t sqlTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return t.tx.QueryRowContext(ctx, query, args...)
}

// sqlRows has the methods of pgx.Rows that the generated code calls; the embedded nil interface
// stands for the rest.
type sqlRows struct {
	pgx.Rows
	rows *sql.Rows
}

func (r sqlRows) Next() bool             { return r.rows.Next() }
func (r sqlRows) Scan(dest ...any) error { return r.rows.Scan(dest...) }
func (r sqlRows) Err() error             { return r.rows.Err() }
func (r sqlRows) Close()                 { _ = r.rows.Close() } // Err reports what matters.
