package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// pool is the source of connections: a pgx or a database/sql pool.
type pool interface {
	// take returns a connection. After an error nothing was sent.
	take(ctx context.Context) (connection, error)
	// takeToRenew is take for renewals. They do not queue behind the program's calls if the pool can arrange that. takeReady is the same, and
	// fails if there is no such connection.
	takeToRenew(ctx context.Context) (connection, error)
	takeReady(ctx context.Context) (connection, error)
	// begin begins a transaction at READ COMMITTED.
	begin(ctx context.Context) (transaction, error)
	// allInUse reports whether all connections of the pool are in use.
	allInUse() bool
	// listen returns a listener to a channel, or db.ErrNoListen.
	listen(ctx context.Context, channel string) (db.Listener, error)
	// close closes the connections that are kept for renewals. closePool closes the pool.
	close()
	closePool() error
	// in puts the pool into a handle.
	in(handle *db.Handle)
}

// connection is a connection of a pool.
type connection interface {
	queries.DBTX
	// giveBack takes the error of the call, to decide whether the connection is still usable.
	giveBack(err error)
}

// transaction is a transaction that the driver has begun.
type transaction interface {
	queries.DBTX
	commit(ctx context.Context) error
	// rollback does nothing after a commit.
	rollback(ctx context.Context)
}

// call runs an operation's generated query in the transaction, or on a connection of the pool.
func call[R any](ctx context.Context, d *Driver, operation func(*queries.Queries) (R, error)) (R, error) {
	return callOn(ctx, d, d.pool.take, operation)
}

func callOn[R any](
	ctx context.Context, d *Driver, take func(ctx context.Context) (connection, error), operation func(*queries.Queries) (R, error),
) (result R, err error) {
	if d.tx != nil {
		result, err = operation(queries.New(d.tx))
		return result, interpretError(err)
	}
	connected := db.Connects(ctx, d.pool.allInUse)
	conn, err := take(ctx)
	connected()
	if err != nil {
		return result, d.notFree(ctx, err)
	}
	defer func() { conn.giveBack(err) }()
	result, err = operation(queries.New(conn))
	return result, interpretError(err)
}
