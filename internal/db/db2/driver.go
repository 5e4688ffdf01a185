// Package db2 is the driver for Db2 11.5 and later on Linux, UNIX and Windows, on github.com/ibmdb/go_ibm_db, which needs cgo and IBM's
// client: build tag db2.
//
// Each operation calls the row form of the procedure: in OUT parameters the client loses NULL, and reads timestamps as local time. sqlc
// does not support Db2, so the calls are written by hand.
package db2

import (
	"cmp"
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/applock/applock/internal/db"
)

// Driver runs the operations through a database/sql pool or in a caller's transaction.
type Driver struct {
	// Routines calls them by call.
	db.Routines
	handle *sql.DB
	// tx is the caller's transaction or that of InTx, and nil outside one.
	tx *sql.Tx
	// undone holds the error with which Db2 rolled back the transaction of InTx; nil outside one.
	undone *atomic.Pointer[db.Error]
	schema string
	close  func() error
}

var _ db.Driver = (*Driver)(nil)

// New returns a driver on the caller's pool, which the caller closes. An empty schema is the default one.
func New(handle *sql.DB, schema string) (*Driver, error) {
	schema = cmp.Or(schema, db.DefaultSchema)
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
	driver := &Driver{handle: handle, schema: schema, close: func() error { return nil }}
	driver.Routines = driver.call
	return driver, nil
}

// Open returns a new pool for a DSN. It does not connect yet. ConnectTimeout limits an attempt to connect; zero leaves that to the DSN.
func Open(dsn string, connectTimeout time.Duration) (*sql.DB, error) {
	return openPool(dsn, connectTimeout)
}

// Owned makes Close close the pool.
func (d *Driver) Owned() *Driver {
	owned := *d
	owned.Routines, owned.close = owned.call, d.handle.Close
	return &owned
}

// Close closes the pool if it is Owned.
func (d *Driver) Close() error { return d.close() }

// WithSQLTx returns a driver whose operations run in the caller's transaction.
func (d *Driver) WithSQLTx(tx *sql.Tx) db.Driver { return d.in(tx, nil) }

// in returns a driver whose operations run in a transaction, and which records in undone that Db2 has rolled it back.
func (d *Driver) in(tx *sql.Tx, undone *atomic.Pointer[db.Error]) *Driver {
	inTx := &Driver{handle: d.handle, tx: tx, undone: undone, schema: d.schema, close: func() error { return nil }}
	inTx.Routines = inTx.call
	return inTx
}

// Handle returns the pool.
func (d *Driver) Handle() (db.Handle, error) {
	return db.Handle{
		Dialect:   "db2",
		DB:        d.handle,
		Schema:    d.schema,
		Interpret: func(_ context.Context, err error) error { return interpretError(err) },
		Close:     func() error { return nil },
	}, nil
}

// qualify puts the schema before the name of a table or routine.
func (d *Driver) qualify(name string) string { return d.schema + "." + name }
