package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/applock/applock/internal/db"
)

// rollbackLimit bounds a rollback, which no caller's context ends.
const rollbackLimit = 5 * time.Second

// InTx runs operations in a transaction of their own at READ COMMITTED, where none of them keeps a gap locked. It
// is not a *sql.Tx because that one's commit heeds no context.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	for _, statement := range []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return connectError(ctx, err)
		}
	}
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if err := operations(d.in(conn)); err != nil {
		return err
	}
	if err := db.EndOf(ctx); err != nil { // so that it is certain that nothing is committed
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return interpretError(err)
	}
	committed = true
	return nil
}

// rollback keeps a connection that does not answer out of the pool.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		giveUp(conn)
	}
}

// giveUp closes a connection instead of giving it back to the pool. The server rolls back what was open.
func giveUp(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Listen returns db.ErrNoListen: the servers have no messages.
func (d *Driver) Listen(context.Context) (db.Listener, error) {
	return nil, db.ErrNoListen
}
