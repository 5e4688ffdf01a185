package postgres

import (
	"context"
	"errors"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
)

// endsWhenIdle makes the server end a transaction whose client is silent for 5 s. A lost client would otherwise keep its row locks until
// TCP notices.
const endsWhenIdle = "SET LOCAL idle_in_transaction_session_timeout = '5s'"

// tells matches the statements whose answer a program acts on, up to the first column of the answer.
var tells = regexp.MustCompile(`^(-- name: (?:Get|Take|Transfer|Renew|Answer|Note|Release|Pass|Set|Drop)Appl.*\n(?:--.*\n)*SELECT\s+)([\w.]+)::text`)

// flushed has the statement's transaction wait for the server's disk where the session does not, and leaves any other level as it is: a crash
// would undo what has been told. It does so in the answer, which is before the commit. A release that need not be flushed sets its own level in a
// later column.
func flushed(statement string) string {
	return tells.ReplaceAllString(statement, `${1}CASE
        WHEN current_setting('synchronous_commit') = 'off' AND set_config('synchronous_commit', 'local', true) = '' THEN ''
        ELSE $2
    END::text`)
}

// InTx runs operations in a transaction at READ COMMITTED, which avoids serialization failures.
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
	if err := db.EndOf(ctx); err != nil { // then nothing is committed for certain
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return commitError(tx.commit(ctx))
}

// commitError is nil only when the server has confirmed the commit.
func commitError(err error) error {
	if errors.Is(err, pgx.ErrTxCommitRollback) { // an operation failed, and the caller did not return its error
		return &db.Error{Kind: db.KindOther, Err: err}
	}
	return interpretError(err)
}
