package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// pgxClient runs statements on a connection or in a transaction of pgx.
type pgxClient struct {
	client interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
		QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	}
	statements *db.Statements
	// unprepared makes even the first run of a statement take one round trip.
	unprepared bool
}

func (c pgxClient) Query(ctx context.Context, statement string, args ...any) (queries.Rows, error) {
	if c.unprepared {
		args = append([]any{pgx.QueryExecModeExec}, args...)
	}
	return c.client.Query(ctx, c.statements.Qualified(statement), args...) //nolint:sqlclosecheck // the generated code does
}

func (c pgxClient) QueryRow(ctx context.Context, statement string, args ...any) queries.Row {
	return c.client.QueryRow(ctx, c.statements.Qualified(statement), args...)
}

// renewers is how many connections are kept for renewals, outside the pool.
const renewers = 2

// pgxPool is a caller's pgx pool, with separate connections for renewals.
type pgxPool struct {
	pool       *pgxpool.Pool
	statements *db.Statements
	renewing   *db.Kept[*pgx.Conn]
}

func newPGXPool(pool *pgxpool.Pool, statements *db.Statements) pgxPool {
	connect := func(ctx context.Context) (*pgx.Conn, error) { return connect(ctx, pool) }
	return pgxPool{pool: pool, statements: statements, renewing: db.NewKept(renewers, connect, disconnect)}
}

func (p pgxPool) take(ctx context.Context) (connection, error) {
	return p.acquire(ctx, false)
}

func (p pgxPool) acquire(ctx context.Context, unprepared bool) (connection, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkEncoding(conn.Conn()); err != nil {
		conn.Release()
		return nil, err
	}
	client := pgxClient{client: conn, statements: p.statements, unprepared: unprepared && isExtended(conn.Conn())}
	return pgxPooled{client, conn}, nil
}

// checkEncoding refuses a connection on which the server takes pgx's UTF-8 for another encoding: it would store other letters than other
// programs do, so that two could hold what both call by one name.
func checkEncoding(conn *pgx.Conn) error {
	client, server := conn.PgConn().ParameterStatus("client_encoding"), conn.PgConn().ParameterStatus("server_encoding")
	if client == "" || client == "UTF8" || server == "SQL_ASCII" {
		return nil
	}
	return &db.Error{Kind: db.KindOther, Err: fmt.Errorf("the connection's client_encoding is %s, and pgx sends UTF-8: write client_encoding=UTF8 into the DSN", client)}
}

type pgxPooled struct {
	pgxClient
	conn *pgxpool.Conn
}

func (c pgxPooled) giveBack(error) { c.conn.Release() }

// takeToRenew takes a connection that is kept for renewals. If there is none yet, or none can be made, it takes one of the pool: to connect
// takes several round trips.
func (p pgxPool) takeToRenew(ctx context.Context) (connection, error) {
	if conn, ok := p.renewing.TryTake(renewers); ok {
		return p.renews(conn), nil
	}
	if p.pool.Stat().IdleConns() > 0 {
		return p.takeUnprepared(ctx)
	}
	conn, err := p.takeReady(ctx)
	if err != nil && ctx.Err() == nil {
		return p.takeUnprepared(ctx)
	}
	return conn, err
}

func (p pgxPool) renews(conn *pgx.Conn) pgxRenewing {
	return pgxRenewing{pgxClient{client: conn, statements: p.statements, unprepared: isExtended(conn)}, conn, p.renewing}
}

func (p pgxPool) takeUnprepared(ctx context.Context) (connection, error) { return p.acquire(ctx, true) }

// isExtended reports whether the connection uses the protocol with prepared statements, and pgx can read its times without preparing: as
// text, in one format.
func isExtended(conn *pgx.Conn) bool {
	return conn.Config().DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol &&
		strings.HasPrefix(conn.PgConn().ParameterStatus("DateStyle"), "ISO")
}

func (p pgxPool) takeReady(ctx context.Context) (connection, error) {
	conn, err := p.renewing.Take(ctx, renewers)
	if err != nil {
		return nil, err
	}
	return p.renews(conn), nil
}

type pgxRenewing struct {
	pgxClient
	conn *pgx.Conn
	kept *db.Kept[*pgx.Conn]
}

func (c pgxRenewing) giveBack(err error) {
	c.kept.GiveBack(c.conn, err == nil && !c.conn.IsClosed())
}

// disconnect closes a connection in the background, since the server may not answer.
func disconnect(conn *pgx.Conn) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		defer cancel()
		_ = conn.Close(ctx) // the connection is broken or not needed
	}()
}

func (p pgxPool) begin(ctx context.Context) (transaction, error) {
	tx, err := p.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; " + endsWhenIdle})
	if err != nil {
		return nil, err
	}
	if err := checkEncoding(tx.Conn()); err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return pgxTransaction{pgxClient{client: tx, statements: p.statements}, tx}, nil
}

type pgxTransaction struct {
	pgxClient
	tx pgx.Tx
}

func (t pgxTransaction) commit(ctx context.Context) error { return t.tx.Commit(ctx) }

func (t pgxTransaction) rollback(ctx context.Context) { _ = t.tx.Rollback(ctx) }

func (p pgxPool) allInUse() bool {
	stat := p.pool.Stat()
	return stat.AcquiredConns() >= stat.MaxConns()
}

func (p pgxPool) close() { p.renewing.Close() }

func (p pgxPool) closePool() error {
	p.pool.Close()
	return nil
}

func (p pgxPool) in(handle *db.Handle) { handle.Pool = p.pool }
