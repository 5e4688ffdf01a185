package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
)

// GrantRequest names the role and its receiver.
type GrantRequest struct {
	// Role is operator (locks, reads and releases), supervisor (also takes and hands over others' locks), auditor (reads), janitor (purges)
	// or administrator (sets policies). Grant twice to give two roles.
	Role string
	// To is the receiver, which must exist: a role of PostgreSQL; an account of MySQL or MariaDB as NAME or NAME@HOST, or a role there; a
	// role of Db2.
	To string
}

// GrantResult has the statements of a Grant.
type GrantResult struct {
	// Statements are those that it ran.
	Statements []string
}

// Grant grants the rights of a role, as listed in docs/grants.md. The client must be the owner of the procedures or an administrator.
// Repeating a grant is no error. It returns ErrInvalid for an unknown role, and on SQLite, where write access to the file is all that
// counts. It fails where PostgreSQL only warns that it granted nothing, and names the owner who can grant. On PostgreSQL an error has granted
// nothing; elsewhere the finished grants stay: call it again.
func Grant(ctx context.Context, client *applock.Client, request GrantRequest) (GrantResult, error) {
	var result GrantResult
	err := onTarget(ctx, client, "grant", func(dialect dialects.Dialect, target migrate.Target) error {
		if dialect.Grants == nil {
			return invalid("client", "is of %s, which has no rights to grant: whoever may write the file may do everything", dialect.Name)
		}
		statements, err := grants(dialect, target.Schema, request)
		if err != nil {
			return err
		}
		result.Statements, err = execute(ctx, target, statements, func(client migrate.Client) error {
			if target.Granted == nil {
				return nil
			}
			return target.Granted(ctx, client, db.Role(request.Role), request.To)
		})
		return byGranter(dialect, byOwner(ctx, target, missingAccount("To", request.To, err)))
	})
	return result, err
}

// byOwner adds the owner of the installation to an error that comes from not being it.
func byOwner(ctx context.Context, target migrate.Target, err error) error {
	if told := belongs(ctx, target, err); told != "" {
		return fmt.Errorf("%w; %s", err, told)
	}
	return err
}

// byGranter adds to an error which account may grant, if the owner may not.
func byGranter(d dialects.Dialect, err error) error {
	if d.Granter == "" || db.KindOf(err) != db.KindPrivilege {
		return err
	}
	return fmt.Errorf("%w; %s", err, d.Granter)
}

// missingAccount adds advice to the error of a statement whose account does not exist.
func missingAccount(argument, name string, err error) error {
	if db.KindOf(err) != db.KindNoAccount {
		return err
	}
	return invalid(argument, "is no account of this server: %q; create it first, or name it as the server does: case counts, and on MySQL and MariaDB NAME is NAME@%%", name)
}

// GrantScriptRequest selects the grants of GrantScript.
type GrantScriptRequest struct {
	// Dialect is postgres, mysql or db2.
	Dialect string
	// Schema contains the procedures; empty is the dialect's default, on MySQL the client's database.
	Schema string
	// Role and To are those of GrantRequest.
	Role string
	To   string
}

// GrantScript returns the statements of Grant as SQL for the database's own command-line client. It returns ErrInvalid as Grant does, and
// for an invalid dialect or schema.
func GrantScript(request GrantScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	statements, err := grants(dialect, request.Schema, GrantRequest{Role: request.Role, To: request.To})
	if err != nil {
		return "", err
	}
	return strings.Join(statements, ";\n") + ";\n", nil
}

func grants(dialect dialects.Dialect, schema string, request GrantRequest) ([]string, error) {
	if dialect.Grants == nil {
		return nil, invalid("Dialect", "%s has no rights to grant: whoever may write the file may do everything", dialect.Name)
	}
	role := db.Role(request.Role)
	if !slices.Contains(db.Roles(), role) {
		var names []string
		for _, known := range db.Roles() {
			names = append(names, string(known))
		}
		return nil, invalid("Role", "%q must be one of %s", request.Role, strings.Join(names, ", "))
	}
	if err := checkGrantee("To", request.To); err != nil {
		return nil, err
	}
	schema, err := schemaOf(dialect, schema)
	if err != nil {
		return nil, err
	}
	statements, err := dialect.Grants(schema, role, request.To)
	if err != nil {
		return nil, invalid("To", "%s", err)
	}
	return statements, nil
}

func checkGrantee(argument, name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return invalid(argument, "must be a name without control characters")
	}
	return nil
}

// MissingGrant is an account or role with only a part of a role's rights.
type MissingGrant struct {
	// To is its name, as in GrantRequest.
	To string
	// Role is the role whose first right it has.
	Role string
	// Operations are the missing ones. If it has both forms of other operations, single missing forms are listed as well.
	Operations []string
}

// MissingGrantsResult is the result of MissingGrants.
type MissingGrantsResult struct {
	Missing []MissingGrant
	// Known is false if the product cannot tell: Db2 and SQLite.
	Known bool
}

// MissingGrants returns the accounts with only a part of a role's rights. An upgrade with new operations leaves such, since it grants
// nothing. An account that may get counts as an operator, one that may transfer as a supervisor, one that may purge as a janitor. One that
// may only list counts as an auditor. MissingGrants changes nothing. It returns ErrPrivilege if the client cannot read the grants, on MySQL
// and MariaDB mysql.procs_priv. On Db2 and SQLite it finds nothing.
func MissingGrants(ctx context.Context, client *applock.Client) (MissingGrantsResult, error) {
	var result MissingGrantsResult
	err := onTarget(ctx, client, "missing grants", func(_ dialects.Dialect, target migrate.Target) error {
		if target.Rights == nil {
			return nil
		}
		rights, err := target.Rights(ctx)
		result.Known = err == nil
		for _, lack := range migrate.Lacks(rights) {
			result.Missing = append(result.Missing, MissingGrant{To: lack.Grantee, Role: string(lack.Role), Operations: lack.Operations})
		}
		return err
	})
	return result, err
}

// onTarget runs work on the client's database, opened as for a migration.
func onTarget(ctx context.Context, client *applock.Client, name string, command func(dialects.Dialect, migrate.Target) error) error {
	if err := dialects.OnTarget(ctx, clients.Driver(client), command); err != nil {
		return fmt.Errorf("%s: %w", name, clients.Explain(err))
	}
	return nil
}
