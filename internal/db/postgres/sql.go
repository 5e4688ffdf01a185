package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// sqlClient runs statements on a connection or in a transaction of database/sql, with any of its PostgreSQL drivers.
type sqlClient struct {
	client interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	statements *db.Statements
}

func (c sqlClient) Query(ctx context.Context, statement string, args ...any) (queries.Rows, error) {
	rows, err := c.client.QueryContext(ctx, c.statements.Qualified(statement), args...) //nolint:rowserrcheck // the generated code does both
	return sqlRows{rows}, err
}

func (c sqlClient) QueryRow(ctx context.Context, statement string, args ...any) queries.Row {
	return c.client.QueryRowContext(ctx, c.statements.Qualified(statement), args...)
}

// sqlRows ignores the error of Close: Err reports it.
type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { _ = r.Rows.Close() }

// sqlPool is a caller's database/sql pool. If it has a limit, up to half of its connections are kept for renewals.
type sqlPool struct {
	pool       *sql.DB
	statements *db.Statements
	renewing   *db.Kept[*sql.Conn]
}

func newSQLPool(pool *sql.DB, statements *db.Statements) sqlPool {
	connect := func(ctx context.Context) (*sql.Conn, error) { return db.LiveConn(ctx, pool) }
	giveBack := func(conn *sql.Conn) { _ = conn.Close() }
	return sqlPool{pool: pool, statements: statements, renewing: db.NewKept(renewers, connect, giveBack)}
}

func (p sqlPool) take(ctx context.Context) (connection, error) {
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = conn.Raw(func(client any) error {
		if ofPGX, is := client.(interface{ Conn() *pgx.Conn }); is {
			return checkEncoding(ofPGX.Conn())
		}
		return nil
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return sqlPooled{sqlClient{conn, p.statements}, conn}, nil
}

type sqlPooled struct {
	sqlClient
	conn *sql.Conn
}

func (c sqlPooled) giveBack(error) { _ = c.conn.Close() }

func (p sqlPool) takeToRenew(ctx context.Context) (connection, error) {
	spare := p.pool.Stats().MaxOpenConnections / 2
	if spare == 0 {
		return p.take(ctx)
	}
	conn, err := p.renewing.Take(ctx, spare)
	if err != nil {
		return nil, err
	}
	return sqlRenewing{sqlClient{conn, p.statements}, conn, p.renewing}, nil
}

func (p sqlPool) takeReady(ctx context.Context) (connection, error) { return p.takeToRenew(ctx) }

type sqlRenewing struct {
	sqlClient
	conn *sql.Conn
	kept *db.Kept[*sql.Conn]
}

func (c sqlRenewing) giveBack(err error) { c.kept.GiveBack(c.conn, err == nil) }

func (p sqlPool) begin(ctx context.Context) (transaction, error) {
	tx, err := p.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, endsWhenIdle); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return sqlTransaction{sqlClient{tx, p.statements}, tx}, nil
}

type sqlTransaction struct {
	sqlClient
	tx *sql.Tx
}

func (t sqlTransaction) commit(context.Context) error { return t.tx.Commit() }

func (t sqlTransaction) rollback(context.Context) { _ = t.tx.Rollback() }

func (p sqlPool) allInUse() bool { return db.AllInUse(p.pool) }

// listen returns db.ErrNoListen: database/sql has no notices.
func (p sqlPool) listen(context.Context, string) (db.Listener, error) { return nil, db.ErrNoListen }

func (p sqlPool) close() { p.renewing.Close() }

func (p sqlPool) closePool() error { return p.pool.Close() }

func (p sqlPool) in(handle *db.Handle) { handle.DB = p.pool }
