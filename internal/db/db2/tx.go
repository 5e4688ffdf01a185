package db2

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/applock/applock/internal/db"
)

// InTx runs operations in a transaction on a connection of the pool.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	if err := ended(ctx); err != nil {
		return err
	}
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		Discard(conn)
		_ = conn.Close()
		return connectError(ctx, err) // nothing has happened yet
	}
	inTx := d.in(tx, &atomic.Pointer[db.Error]{})
	commits := false
	defer func() {
		if !commits { // also when operations panic
			_ = abandonable(ctx, func(context.Context) error { return end(conn, tx.Rollback) })
		}
	}()
	if err := operations(inTx); err != nil {
		return err
	}
	if err := inTx.undone.Load(); err != nil { // Db2 rolled back, and later operations ran in another transaction
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	commits = true
	return abandonable(ctx, func(context.Context) error { return end(conn, tx.Commit) })
}

// noteUndone records an error that ended the transaction.
func (d *Driver) noteUndone(err error) {
	var dbErr *db.Error
	if d.undone != nil && isUndone(err) && errors.As(err, &dbErr) {
		d.undone.Store(dbErr)
	}
}

// end commits or rolls back once the transaction's last call has been answered, and gives the connection back. If that fails, it discards
// the connection, which go_ibm_db has left without autocommit.
func end(conn *sql.Conn, finish func() error) error {
	err := interpretError(finish())
	if err != nil {
		Discard(conn)
	}
	_ = conn.Close()
	return err
}

// Listen returns db.ErrNoListen: Db2 has no such notices.
func (d *Driver) Listen(context.Context) (db.Listener, error) { return nil, db.ErrNoListen }
