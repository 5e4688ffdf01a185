package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// InTx runs operations in a transaction that is the file's writer from its beginning: none of them waits, and none
// can find that what it has read has changed meanwhile.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	return d.tx(ctx, true, func(d *Driver) error { return operations(d) })
}

// tx is InTx, or runs operations in the transaction that is there. Operations that are not the driver's own may be long: others then wait
// for the file, as they would for another process. Else they keep the turn to the end, and the next writer begins at once.
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
	client := newPrepared(conn)         // for operations with many rounds
	defer client.close()
	single := *d
	single.client, single.pooled = client, false
	if _, err := retryWhileBusy(ctx, func() (struct{}, error) { return struct{}{}, single.run(ctx, "BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	if long {
		leave()
	}
	committed := false
	defer func() {
		if !committed {
			_ = single.run(ctx, "ROLLBACK") // it fails where the engine has rolled back already
		}
	}()
	if err := operations(&single); err != nil {
		return err
	}
	// Readers can delay a commit where the file has no write-ahead log; it can be repeated.
	_, err = retryWhileBusy(ctx, func() (struct{}, error) { return struct{}{}, single.run(ctx, "COMMIT") })
	committed = err == nil
	return err
}

// run runs a statement to its end, whatever ctx does: so nothing is ever unknown.
func (d *Driver) run(ctx context.Context, statement string) error {
	_, err := d.client.ExecContext(context.WithoutCancel(ctx), statement)
	return d.interpretError(ctx, err)
}

// Listen returns db.ErrNoListen.
func (d *Driver) Listen(context.Context) (db.Listener, error) {
	return nil, db.ErrNoListen
}
