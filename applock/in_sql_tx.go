package applock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// InSQLTx runs work in a transaction of the client's pool. It commits if work returns nil; otherwise it rolls back and returns the error. It
// also rolls back if work panics, and the panic goes on.
// Locks is the client in that transaction: lock and data appear together, or neither.
//
// After a deadlock or a serialization failure, also at the commit or in one of work's own statements (40001, 40P01, MySQL's 1213), and
// after ErrBusy and ErrContention, work runs again in a new transaction, up to ten times. So work must not change anything outside the
// transaction. The isolation level is the database's default.
//
// A client on a pool of pgx has github.com/applock/applock/applock/postgres.InTx; here it is ErrInvalid. It returns ErrOutcomeUnknown if no
// answer to the commit came back: the transaction is committed as a whole, or not at all. A cancelled ctx ends the call and rolls back what
// is not committed.
func (c *Client) InSQLTx(ctx context.Context, work func(tx *sql.Tx, locks *Client) error) error {
	o := c.ops()
	if err := o.ready(ctx); err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	if o.inTx {
		return fmt.Errorf("transaction: %w", &InvalidError{Argument: "client", Reason: "is in a transaction already"})
	}
	if work == nil {
		return fmt.Errorf("transaction: %w", errNoWork)
	}
	handle, err := o.driver.Handle()
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	defer func() { _ = handle.Close() }() // the pool stays the client's
	if handle.DB == nil {
		return fmt.Errorf("transaction: %w", &InvalidError{Argument: "client", Reason: "has no database/sql pool: PostgreSQL has postgres.InTx"})
	}
	return db.BeginAgain(ctx, handle.Interpret, []error{ErrRetry, ErrBusy, ErrContention}, func() error {
		tx, err := handle.DB.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("begin: %w", explain(db.NotSent(ctx, handle.Interpret(ctx, err))))
		}
		defer func() { _ = tx.Rollback() }() // for work that panics or ends its goroutine; otherwise the transaction has ended
		if err := work(tx, c.WithSQLTx(tx)); err != nil {
			if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
				return errors.Join(err, fmt.Errorf("rollback: %w", rollback))
			}
			return err
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("commit: %w", o.changeError(handle.Interpret(ctx, err)))
		}
		return nil
	})
}
