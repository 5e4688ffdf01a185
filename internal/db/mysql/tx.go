package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/applock/applock/internal/db"
)

// finishLimit limits the clean-up after a transaction, which no caller's context ends.
const finishLimit = 5 * time.Second

// endsWhenIdle makes the server end a session whose client is silent, or reads nothing, for 5 s. A lost client would otherwise keep its row
// locks for hours. afterwards restores the old settings.
const (
	endsWhenIdle = "SET @applock_read = @@SESSION.wait_timeout, @applock_write = @@SESSION.net_write_timeout, " +
		"SESSION wait_timeout = 5, SESSION net_write_timeout = 5"
	afterwards = "SET SESSION wait_timeout = @applock_read, SESSION net_write_timeout = @applock_write"
)

// InTx runs operations in a transaction at READ COMMITTED, which keeps no gap locks. It does not use *sql.Tx, whose commit ignores the
// context.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	conn, err := d.connect(ctx)
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	undo, err := d.settings.switchOn(ctx, conn)
	if err != nil {
		return err
	}
	undo = append(undo, afterwards)
	committed := false
	defer func() {
		if committed {
			finish(ctx, conn, undo...)
		} else {
			finish(ctx, conn, append([]string{"ROLLBACK AND NO CHAIN NO RELEASE"}, undo...)...)
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
	if err := db.EndOf(ctx); err != nil { // then nothing is committed for certain
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	if _, err := conn.ExecContext(ctx, "COMMIT AND NO CHAIN NO RELEASE"); err != nil {
		return interpretError(err)
	}
	committed = true
	return nil
}

// finish resets a connection, and closes one that does not answer.
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

// giveUp closes a connection instead of giving it back to the pool. The server rolls its open transaction back.
func giveUp(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Listen returns db.ErrNoListen: these servers have no notices.
func (d *Driver) Listen(context.Context) (db.Listener, error) {
	return nil, db.ErrNoListen
}
