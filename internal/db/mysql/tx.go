package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/applock/applock/internal/db"
)

// finishLimit bounds what follows a transaction, which no caller's context ends.
const finishLimit = 5 * time.Second

// endsWhenIdle has the server end a session whose client says or hears nothing for so long: it may be lost, and its transaction would keep
// what it has taken for hours. afterwards puts back what was there before.
const (
	endsWhenIdle = "SET @applock_read = @@SESSION.wait_timeout, @applock_write = @@SESSION.net_write_timeout, " +
		"SESSION wait_timeout = 5, SESSION net_write_timeout = 5"
	afterwards = "SET SESSION wait_timeout = @applock_read, SESSION net_write_timeout = @applock_write"
)

// InTx runs operations in a transaction of their own at READ COMMITTED, where none of them keeps a gap locked. It
// is not a *sql.Tx because that one's commit heeds no context.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	conn, err := d.connect(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	committed := false
	defer func() {
		if committed {
			finish(ctx, conn, afterwards)
		} else {
			finish(ctx, conn, "ROLLBACK", afterwards)
		}
	}()
	for _, statement := range []string{endsWhenIdle, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return connectError(ctx, err)
		}
	}
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

// finish makes a connection as it was, and keeps one that does not answer out of the pool.
func finish(ctx context.Context, conn *sql.Conn, statements ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			giveUp(conn)
			return
		}
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
