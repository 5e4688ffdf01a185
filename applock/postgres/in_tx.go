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

// InTx runs work in a transaction of the client's pool, and commits when work returns nil; otherwise it rolls back and returns the error. Locks
// is the client in that transaction: the lock and the data are there together, or neither.
//
// Where the database could not put the transaction in order with others, work runs again in a new one, up to ten times: after a deadlock or
// a serialization failure, also of the commit or of one of work's own statements (40001, 40P01), after ErrBusy and ErrContention. So work
// changes nothing outside of the transaction. The isolation is the database's default.
//
// It returns ErrOutcomeUnknown when no answer to the commit came back: the transaction is there as a whole, or not at all. A cancelled ctx
// ends it, and rolls back what is not committed. ErrInvalid where the client is not one of PostgreSQL, or was made by NewSQL,
// which has [applock.Client.InSQLTx].
func InTx(ctx context.Context, client *applock.Client, work func(tx pgx.Tx, locks *applock.Client) error) error {
	handle, err := clients.Driver(client).Handle()
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	defer func() { _ = handle.Close() }() // the pool stays the client's
	pool, ok := handle.Pool.(*pgxpool.Pool)
	if !ok {
		reason := "is not one of PostgreSQL"
		if handle.Dialect == "postgres" {
			reason = "has a *sql.DB and not a pool of pgx: it has InSQLTx"
		}
		return fmt.Errorf("transaction: %w", &applock.InvalidError{Argument: "client", Reason: reason})
	}
	asking := []error{applock.ErrRetry, applock.ErrBusy, applock.ErrContention}
	return db.BeginAgain(ctx, handle.Interpret, asking, func() error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", clients.Explain(db.NotSent(ctx, handle.Interpret(ctx, err))))
		}
		if err := work(tx, WithTx(client, tx)); err != nil {
			if rollback := tx.Rollback(context.WithoutCancel(ctx)); rollback != nil && !errors.Is(rollback, pgx.ErrTxClosed) {
				return errors.Join(err, fmt.Errorf("rollback: %w", rollback))
			}
			return err
		}
		return commit(ctx, handle, tx)
	})
}

func commit(ctx context.Context, handle db.Handle, tx pgx.Tx) error {
	err := handle.Interpret(ctx, tx.Commit(ctx))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback): // a statement of work's had failed, and work said nothing
		return fmt.Errorf("commit: %w", err)
	case db.KindOf(err) == db.KindInFlight:
		return fmt.Errorf("commit: %w: %w", applock.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("commit: %w", clients.Explain(err))
}
