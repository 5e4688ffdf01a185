package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// InTx runs operations in a transaction that is the file's writer from its beginning. So none of them waits, and nothing changes after it
// was read.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	return d.tx(ctx, true, func(d *Driver) error { return operations(d) })
}

// tx is InTx, or runs operations in the transaction that is open. A caller's operations may be long: other writers then wait for the file,
// as they would for another process. The driver's own keep the turn to the end, so that the next writer begins at once.
func (d *Driver) tx(ctx context.Context, long bool, operations func(*Driver) error) error {
	if !d.pooled {
		return operations(d)
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return db.NotFree(ctx, d.interpretError(ctx, err), db.AllInUse(d.handle))
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	client := newPrepared(conn)         // operations may run a statement many times
	defer client.close()
	single := *d
	single.client, single.pooled = client, false
	if _, err := retryWhileBusy(ctx, d.patience, func() (struct{}, error) { return struct{}{}, single.run(ctx, "BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	if long {
		leave()
	}
	committed := false
	defer func() {
		if !committed {
			_ = single.run(ctx, "ROLLBACK") // it fails if the engine has rolled back already
		}
	}()
	if err := operations(&single); err != nil {
		return err
	}
	// Without a write-ahead log, readers can delay a commit. It can be repeated.
	_, err = retryWhileBusy(ctx, d.patience, func() (struct{}, error) { return struct{}{}, single.run(ctx, "COMMIT") })
	committed = err == nil
	return err
}

// inOneTx runs an operation of several statements in a transaction.
func inOneTx[T any](ctx context.Context, d *Driver, operation func(context.Context, *Driver) (T, error)) (T, error) {
	var result T
	err := d.tx(ctx, false, func(d *Driver) error {
		var err error
		result, err = withBusyRetry(ctx, d, operation)
		return err
	})
	return result, err
}

// run runs a statement to its end, even if ctx ends, so that no outcome is unknown.
func (d *Driver) run(ctx context.Context, statement string) error {
	_, err := d.client.ExecContext(context.WithoutCancel(ctx), statement)
	return d.interpretError(ctx, err)
}

// Listen returns db.ErrNoListen.
func (d *Driver) Listen(context.Context) (db.Listener, error) {
	return nil, db.ErrNoListen
}
