package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
)

// InTx runs operations in a transaction of their own at READ COMMITTED, where none of them can meet a serialization
// failure that the caller has not asked for.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return d.notFree(ctx, err)
	}
	// After the commit this does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := operations(d.in(tx)); err != nil {
		return err
	}
	return commitError(tx.Commit(ctx))
}

// commitError is nil only when the server has said that the transaction is committed.
func commitError(err error) error {
	if errors.Is(err, pgx.ErrTxCommitRollback) { // an operation has failed, and its error was not passed on
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return interpretError(err)
}
