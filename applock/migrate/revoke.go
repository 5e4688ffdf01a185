package migrate

import (
	"context"
	"fmt"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// RevokeRequest names who loses all rights.
type RevokeRequest struct {
	// From is whose rights end, as GrantRequest names who is granted them.
	From string
	// DryRun has Revoke tell the statements and run none.
	DryRun bool
}

// RevokeResult is what Revoke has done.
type RevokeResult struct {
	// Statements are those that it ran, or would run. On MySQL and MariaDB there are none where nothing was granted.
	Statements []string
}

// Revoke takes from somebody the rights to all operations, which Grant has given, in whichever roles. Sessions that are
// connected lose them, too. What the same account may do as a member of another role or by rights on the whole database stays.
// The client has to be the owner of the procedures, or an administrator; on MySQL and MariaDB it has to read mysql.procs_priv,
// or it is ErrPrivilege. It returns ErrInvalid on Db2 and SQLite. If it fails half-way, or is cancelled, call it again.
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

// execute runs statements on one connection and returns those that have been run.
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
