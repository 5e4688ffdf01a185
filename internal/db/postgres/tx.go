package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
)

// endsWhenIdle has the server end a transaction whose client says nothing for so long: it may be lost, and would keep what it has taken
// until TCP notices.
const endsWhenIdle = "SET LOCAL idle_in_transaction_session_timeout = '5s'"

// InTx runs operations in a transaction of their own at READ COMMITTED, where none of them can meet a serialization
// failure that the caller has not asked for.
func (d *Driver) InTx(ctx context.Context, operations func(db.Driver) error) error {
	if d.tx != nil {
		return operations(d)
	}
	connected := db.Connects(ctx, d.pool.allInUse)
	tx, err := d.pool.begin(ctx)
	connected()
	if err != nil {
		return d.notFree(ctx, err)
	}
	defer tx.rollback(context.WithoutCancel(ctx))
	if err := operations(d.within(tx)); err != nil {
		return err
	}
	if err := db.EndOf(ctx); err != nil { // so that it is certain that nothing is committed
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return commitError(tx.commit(ctx))
}

// commitError is nil only when the server has said that the transaction is committed.
func commitError(err error) error {
	if errors.Is(err, pgx.ErrTxCommitRollback) { // an operation has failed, and its error was not passed on
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return interpretError(err)
}
