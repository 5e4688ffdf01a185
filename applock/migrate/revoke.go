package migrate

import (
	"context"
	"fmt"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// RevokeRequest names the account that loses its rights.
type RevokeRequest struct {
	// From is its name, as in GrantRequest.
	From string
	// DryRun only returns the statements.
	DryRun bool
}

// RevokeResult is the result of Revoke.
type RevokeResult struct {
	// Statements are those that it ran, or would run. On MySQL and MariaDB there are none if nothing was granted.
	Statements []string
}

// Revoke revokes the rights of all roles that Grant has given to an account. Connected sessions lose them, too. Rights by another role, or
// on the whole database, stay. The client must be the owner of the procedures or an administrator. On MySQL and MariaDB it must be able to
// read mysql.procs_priv, else Revoke returns ErrPrivilege. It returns ErrInvalid on Db2 and SQLite. If it fails half-way or is cancelled,
// call it again.
func Revoke(ctx context.Context, client *applock.Client, request RevokeRequest) (RevokeResult, error) {
	var result RevokeResult
	err := onTarget(ctx, client, "revoke", func(handle db.Handle, target migrate.Target) error {
		if err := checkGrantee("From", request.From); err != nil {
			return err
		}
		dialect, err := dialectOf(handle.Dialect)
		if err != nil {
			return err
		}
		if dialect.revokes == nil {
			return &applock.InvalidError{Argument: "Dialect", Reason: dialect.name + " is not one that rights are revoked on: " +
				"SQLite has none, and on Db2 the administrator revokes"}
		}
		rights, err := target.Rights(ctx)
		if err != nil {
			return err
		}
		statements, err := dialect.revokes(handle.Schema, request.From, rights)
		if err != nil {
			return &applock.InvalidError{Argument: "From", Reason: err.Error()}
		}
		if request.DryRun {
			result.Statements = statements
			return nil
		}
		result.Statements, err = execute(ctx, handle, target, statements)
		return dialect.byGranter(byOwner(ctx, target, missingAccount("From", request.From, err)))
	})
	return result, err
}

// execute runs statements on one connection, and returns those that succeeded.
func execute(ctx context.Context, handle db.Handle, target migrate.Target, statements []string) (done []string, err error) {
	conn, err := target.DB.Conn(ctx)
	if err != nil {
		return nil, db.NotSent(ctx, handle.Interpret(ctx, err))
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return done, &db.GrantError{Err: fmt.Errorf("%s: %w", statement, handle.Interpret(ctx, err))}
		}
		done = append(done, statement)
	}
	return done, nil
}
