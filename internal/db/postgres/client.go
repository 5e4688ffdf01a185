package postgres

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// pool is where connections come from: that of pgx, or one of database/sql.
type pool interface {
	// take returns a connection. An error is known to have sent nothing.
	take(ctx context.Context) (connection, error)
	// takeToRenew is take for renewals, which do not queue behind the program if the pool can have it so. takeReady is the same, and
	// fails if there is no such connection.
	takeToRenew(ctx context.Context) (connection, error)
	takeReady(ctx context.Context) (connection, error)
	// begin begins a transaction at READ COMMITTED.
	begin(ctx context.Context) (transaction, error)
	// allInUse reports whether the pool has no connection left to give.
	allInUse() bool
	// listen returns a listener to a channel, or db.ErrNoListen.
	listen(ctx context.Context, channel string) (db.Listener, error)
	// close closes the connections that are kept for renewals, closePool the pool.
	close()
	closePool() error
	// in puts the pool into a handle.
	in(handle *db.Handle)
}

// connection is one of a pool.
type connection interface {
	queries.DBTX
	// giveBack is told how the call went.
	giveBack(err error)
}

// transaction is one of the driver's own.
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
