package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// InTx runs work in a transaction of the client's pool. It commits if work returns nil; otherwise it rolls back and returns the error. It
// also rolls back if work panics, and the panic goes on.
//
// Locks is the client in that transaction, so the lock and the data are committed together.
//
// InTx repeats work in a new transaction, up to ten times, after a conflict: a deadlock (40P01) or serialization failure (40001), also of
// the commit or of one of work's own statements, ErrBusy and ErrContention. So work must change nothing outside of the transaction. The
// isolation is the database's default.
//
// It returns ErrOutcomeUnknown if the commit got no answer: the transaction is either complete or absent. A cancelled ctx rolls back an
// uncommitted transaction. It returns ErrInvalid if the client is not one of PostgreSQL, or was made by NewSQL, which has
// [applock.Client.InSQLTx].
func InTx(ctx context.Context, client *applock.Client, work func(tx pgx.Tx, locks *applock.Client) error) error {
	if ctx == nil {
		return refused("ctx", "is nil")
	}
	if work == nil {
		return refused("work", "is nil")
	}
	handle, err := clients.Driver(client).Handle()
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	defer func() { _ = handle.Close() }() // returns the connection; the pool stays open
	pool, ok := handle.Pool.(*pgxpool.Pool)
	if !ok {
		reason := "is not a client of PostgreSQL"
		if handle.Dialect == "postgres" {
			reason = "has a *sql.DB and not a pool of pgx: use its InSQLTx"
		}
		return refused("client", reason)
	}
	asking := []error{applock.ErrRetry, applock.ErrBusy, applock.ErrContention}
	return db.BeginAgain(ctx, handle.Interpret, asking, func() error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", clients.Explain(db.NotSent(ctx, handle.Interpret(ctx, err))))
		}
		// For work that panics or ends its goroutine; otherwise the transaction has ended.
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if err := work(tx, WithTx(client, tx)); err != nil {
			if rollback := tx.Rollback(context.WithoutCancel(ctx)); rollback != nil && !errors.Is(rollback, pgx.ErrTxClosed) {
				return errors.Join(err, fmt.Errorf("rollback: %w", rollback))
			}
			return err
		}
		return commit(ctx, handle, tx)
	})
}

func refused(argument, reason string) error {
	return fmt.Errorf("transaction: %w", &applock.InvalidError{Argument: argument, Reason: reason})
}

func commit(ctx context.Context, handle db.Handle, tx pgx.Tx) error {
	err := handle.Interpret(ctx, tx.Commit(ctx))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback): // a statement of work failed, and work ignored it
		return fmt.Errorf("commit: %w", err)
	case db.KindOf(err) == db.KindInFlight:
		return fmt.Errorf("commit: %w: %w", applock.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("commit: %w", clients.Explain(err))
}
