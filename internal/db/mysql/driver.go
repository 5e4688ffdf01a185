// Package mysql is the driver for MySQL 8.0 and later and MariaDB 10.6 and later, on github.com/go-sql-driver/mysql.
//
// Each operation calls the row form of the procedure. That is one round trip if the client interpolates parameters, as Open sets it. sqlc's
// code reads the views; it knows neither types nor columns of a CALL.
package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// maxConnections is the limit of the pool that Open makes.
const maxConnections = 10

// Driver runs the operations through a database/sql pool or in a caller's transaction.
type Driver struct {
	// Routines calls them by call.
	db.Routines
	handle *sql.DB
	// tx is the caller's transaction or the connection of InTx, and nil outside one.
	tx queries.DBTX
	// schema is the database of the procedures, empty for the connection's own.
	schema     string
	statements *db.Statements
	close      func() error
	// renewing keeps connections of the pool for renewals; nil in a transaction.
	renewing *db.Kept[*sql.Conn]
	// settings are those of the connections of a caller's pool; nil for our own, and in a transaction.
	settings *settings
}

var (
	_ db.Driver = (*Driver)(nil)
	_ db.Passer = (*Driver)(nil)
)

// New returns a driver on the caller's pool, which the caller closes. A schema is what MySQL calls a database; an empty one is the
// connection's own.
func New(handle *sql.DB, schema string) (*Driver, error) {
	if schema != "" {
		if err := db.CheckSchema(schema); err != nil {
			return nil, err
		}
	}
	driver := &Driver{
		handle: handle, schema: schema, statements: db.NewStatements(schema), close: func() error { return nil },
		settings: newSettings(handle),
	}
	connect := func(ctx context.Context) (*sql.Conn, error) { return db.LiveConn(ctx, handle) }
	driver.Routines = driver.call
	driver.renewing = db.NewKept(renewers, connect, func(conn *sql.Conn) { _ = conn.Close() }) // gives it back to the pool
	return driver, nil
}

// Open returns a new pool for a DSN. It does not connect yet. ConnectTimeout limits an attempt to connect; zero leaves that to the DSN.
func Open(dsn string, connectTimeout time.Duration) (*sql.DB, error) {
	config, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	ourOwn(config)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errNotDSN
	}
	handle := sql.OpenDB(db.ConnectWithin(connector, connectTimeout))
	handle.SetMaxOpenConns(maxConnections)
	handle.SetMaxIdleConns(maxConnections)
	return handle, nil
}

// Owned is for a pool that Open has made: Close closes it, and its connections are in autocommit.
func (d *Driver) Owned() *Driver {
	owned := *d
	owned.Routines, owned.close, owned.settings = owned.call, d.handle.Close, nil
	return &owned
}

// Close closes the pool if it is Owned.
func (d *Driver) Close() error {
	if d.renewing != nil {
		d.renewing.Close()
	}
	return d.close()
}

// WithSQLTx returns a driver whose operations run in the caller's transaction.
func (d *Driver) WithSQLTx(tx *sql.Tx) db.Driver { return d.in(tx) }

// in returns a driver whose operations run in a transaction.
func (d *Driver) in(tx queries.DBTX) *Driver {
	inTx := &Driver{handle: d.handle, tx: tx, schema: d.schema, statements: d.statements, close: func() error { return nil }}
	inTx.Routines = inTx.call
	return inTx
}

// Handle returns the pool.
func (d *Driver) Handle() (db.Handle, error) {
	return db.Handle{
		Dialect:   "mysql",
		DB:        d.handle,
		Schema:    d.schema,
		Interpret: func(_ context.Context, err error) error { return interpretError(err) },
		Close:     func() error { return nil },
	}, nil
}
