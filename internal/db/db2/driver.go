// Package db2 is the driver for Db2 11.5 and later on Linux, UNIX and Windows, on
// github.com/ibmdb/go_ibm_db, which needs cgo and IBM's client: build tag db2.
//
// Each operation calls the row form of the procedure: the client cannot tell NULL in an OUT parameter, and
// takes its timestamps for local time. sqlc has no Db2 engine, so the calls are written by hand.
package db2

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/applock/applock/internal/db"
)

// DefaultSchema is where the migrations install.
const DefaultSchema = "applock"

// Driver runs the operations through a database/sql pool or in a caller's transaction.
type Driver struct {
	handle *sql.DB
	// tx is the caller's transaction, or that of InTx, nil outside one.
	tx *sql.Tx
	// undone has the error with which Db2 has rolled the transaction of InTx back; nil outside one.
	undone *atomic.Pointer[db.Error]
	schema string
	close  func() error
}

var _ db.Driver = (*Driver)(nil)

// New returns a driver on the caller's pool, which stays the caller's to close.
func New(handle *sql.DB) *Driver {
	return &Driver{handle: handle, schema: DefaultSchema, close: func() error { return nil }}
}

// Open returns a driver on a pool of its own. It does not connect yet.
func Open(_ context.Context, dsn string) (db.Driver, error) {
	handle, err := openPool(dsn)
	if err != nil {
		return nil, err
	}
	driver := New(handle)
	driver.close = handle.Close
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
	inTx := *d
	inTx.tx, inTx.undone, inTx.close = sqlTx, nil, func() error { return nil }
	return &inTx, nil
}

// WithSchema shares the pool of d.
func (d *Driver) WithSchema(schema string) (db.Driver, error) {
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
	other := *d
	other.schema = schema
	return &other, nil
}

// qualify puts the schema before the name of a table or routine.
func (d *Driver) qualify(name string) string { return d.schema + "." + name }
