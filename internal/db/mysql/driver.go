// Package mysql is the driver for MySQL 8.0 and later and MariaDB 10.6 and later, on
// github.com/go-sql-driver/mysql.
//
// Each operation calls the row form of the procedure through the query of the same name in
// queries/mysql: one round trip, if the client interpolates parameters as Open has it do.
package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql/queries"
)

// maxConnections bounds the pool that Open makes.
const maxConnections = 10

// Driver runs the operations through a database/sql pool or in a caller's transaction.
type Driver struct {
	handle *sql.DB
	// tx is the caller's transaction, or the connection of InTx's own, nil outside one.
	tx queries.DBTX
	// schema is the database that the procedures are in, empty for the one that is connected to.
	schema string
	close  func() error
}

var _ db.Driver = (*Driver)(nil)

// New returns a driver on the caller's pool, which stays the caller's to close.
func New(handle *sql.DB) *Driver {
	return &Driver{handle: handle, close: func() error { return nil }}
}

// Open returns a driver on a pool of its own. It does not connect yet.
func Open(_ context.Context, dsn string) (db.Driver, error) {
	config, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	ourOwn(config)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errNotDSN
	}
	driver := New(sql.OpenDB(connector))
	driver.handle.SetMaxOpenConns(maxConnections)
	driver.handle.SetMaxIdleConns(maxConnections)
	driver.close = driver.handle.Close
	return driver, nil
}

// Close closes the pool if Open made it.
func (d *Driver) Close() error { return d.close() }

// WithTx accepts a *sql.Tx.
func (d *Driver) WithTx(tx any) (db.Driver, error) {
	sqlTx, ok := tx.(*sql.Tx)
	if !ok {
		return nil, fmt.Errorf("%w: %T, want *sql.Tx", db.ErrTxType, tx)
	}
	return d.in(sqlTx), nil
}

// in returns a driver whose operations run in a transaction.
func (d *Driver) in(tx queries.DBTX) *Driver {
	return &Driver{handle: d.handle, tx: tx, schema: d.schema, close: func() error { return nil }}
}

// WithSchema shares the pool of d. A schema is what MySQL calls a database.
func (d *Driver) WithSchema(schema string) (db.Driver, error) {
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
	return &Driver{handle: d.handle, tx: d.tx, schema: schema, close: d.close}, nil
}

// qualify puts the schema before the name of a table or routine.
func (d *Driver) qualify(name string) string {
	if d.schema == "" {
		return name
	}
	return d.schema + "." + name
}
