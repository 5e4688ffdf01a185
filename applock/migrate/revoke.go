package migrate

import (
	"context"
	"fmt"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
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

// Revoke revokes the rights of all roles that Grant has given to an account, and on PostgreSQL PUBLIC's. Connected sessions lose them, too.
// Rights by another role, or on the whole database, stay. The client must be the owner of the procedures or an administrator. On MySQL and
// MariaDB it must be able to read mysql.procs_priv, else Revoke returns ErrPrivilege. It returns ErrInvalid on Db2 and SQLite, and for an
// account that does not exist. It fails if a right that another role of PostgreSQL has granted would stay, and names that role. On PostgreSQL
// an error has revoked nothing; elsewhere call it again.
func Revoke(ctx context.Context, client *applock.Client, request RevokeRequest) (RevokeResult, error) {
	var result RevokeResult
	err := onTarget(ctx, client, "revoke", func(dialect dialects.Dialect, target migrate.Target) error {
		if err := checkGrantee("From", request.From); err != nil {
			return err
		}
		if dialect.Revokes == nil {
			return invalid("client", "is of %s, which has no rights to revoke here: SQLite has none, and on Db2 the administrator revokes", dialect.Name)
		}
		rights, err := target.Rights(ctx)
		if err != nil {
			return err
		}
		statements := dialect.Revokes(target.Schema, request.From, rights)
		if request.DryRun {
			result.Statements = statements
			return nil
		}
		result.Statements, err = execute(ctx, target, statements, func(client migrate.Client) error {
			if target.Revoked == nil {
				return nil
			}
			return target.Revoked(ctx, client, request.From)
		})
		return byGranter(dialect, byOwner(ctx, target, missingAccount("From", request.From, err)))
	})
	return result, err
}

// execute runs statements on one connection, checks their effect, and returns those that stay. Where it can it is one transaction.
func execute(ctx context.Context, target migrate.Target, statements []string, check func(migrate.Client) error) (done []string, err error) {
	conn, err := target.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	var failed error // already interpreted, unlike an error of the transaction itself
	onClient := func(client migrate.Client) error {
		if done, failed = executeOn(ctx, target, client, statements); failed == nil {
			failed = check(client)
		}
		return failed
	}
	if !target.UndoesDDL {
		err := onClient(conn)
		return done, err
	}
	if err := migrate.InTx(ctx, conn, onClient); failed != nil {
		return nil, failed
	} else if err != nil {
		return nil, target.Interpret(ctx, err)
	}
	return statements, nil
}

func executeOn(ctx context.Context, target migrate.Target, client migrate.Client, statements []string) (done []string, err error) {
	for _, statement := range statements {
		if _, err := client.ExecContext(ctx, statement); err != nil {
			return done, &db.GrantError{Err: fmt.Errorf("%s: %w", statement, target.Interpret(ctx, err))}
		}
		done = append(done, statement)
	}
	return done, nil
}
