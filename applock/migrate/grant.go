package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// GrantRequest names who is granted what.
type GrantRequest struct {
	// Role is operator (locks, looks and releases), supervisor (also hands locks over, and takes them), auditor (only looks), janitor
	// (purges) or administrator (lays down policies). Who is to be two of them is granted twice.
	Role string
	// To is who is granted it: a role of PostgreSQL; an account of MySQL or MariaDB, as NAME or NAME@HOST, or a role
	// there; a role of Db2. It has to exist.
	To string
}

// GrantResult is what Grant has done.
type GrantResult struct {
	// Statements are those that it ran.
	Statements []string
}

// Grant gives somebody the rights of a role, as docs/grants.md has them. The client has to be the owner of the
// procedures, or an administrator. Granting what is granted is no error. It returns ErrInvalid for a role that there is
// not, and on SQLite, where whoever may write the file may do everything. If it fails half-way, or is cancelled, what it
// has granted stays: call it again.
func Grant(ctx context.Context, client *applock.Client, request GrantRequest) (GrantResult, error) {
	var result GrantResult
	err := onTarget(ctx, client, "grant", func(handle db.Handle, target migrate.Target) error {
		statements, err := grants(GrantScriptRequest{
			Dialect: handle.Dialect, Schema: handle.Schema, Role: request.Role, To: request.To,
		})
		if err != nil {
			return err
		}
		dialect, err := dialectOf(handle.Dialect)
		if err != nil {
			return err
		}
		result.Statements, err = execute(ctx, handle, target, statements)
		return dialect.byGranter(byOwner(ctx, target, missingAccount("To", request.To, err)))
	})
	return result, err
}

// byOwner adds to an error whose the installation is, where that is the reason.
func byOwner(ctx context.Context, target migrate.Target, err error) error {
	if told := belongs(ctx, target, err); told != "" {
		return fmt.Errorf("%w; %s", err, told)
	}
	return err
}

// byGranter adds to an error who may grant, where that is not the owner.
func (d dialect) byGranter(err error) error {
	if d.granter == "" || db.KindOf(err) != db.KindPrivilege {
		return err
	}
	return fmt.Errorf("%w; %s", err, d.granter)
}

// missingAccount says of a statement that has failed because nobody has a name what to do.
func missingAccount(argument, name string, err error) error {
	if db.KindOf(err) != db.KindNoAccount {
		return err
	}
	return &applock.InvalidError{Argument: argument, Reason: fmt.Sprintf("is no account of this server: %q; create it first", name)}
}

// GrantScriptRequest says which grants GrantScript returns.
type GrantScriptRequest struct {
	// Dialect is postgres, mysql or db2.
	Dialect string
	// Schema is where the procedures are; empty is the dialect's default, and on MySQL the client's database.
	Schema string
	// Role and To are those of GrantRequest.
	Role string
	To   string
}

// GrantScript returns what Grant runs as SQL for the database's own command-line client. It returns ErrInvalid as Grant
// does, and for a dialect or schema that cannot be.
func GrantScript(request GrantScriptRequest) (string, error) {
	statements, err := grants(request)
	if err != nil {
		return "", err
	}
	return strings.Join(statements, ";\n") + ";\n", nil
}

func grants(request GrantScriptRequest) ([]string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return nil, err
	}
	if dialect.grants == nil {
		reason := dialect.name + " has no rights to grant: whoever may write the file may do everything"
		return nil, &applock.InvalidError{Argument: "Dialect", Reason: reason}
	}
	role := db.Role(request.Role)
	if !slices.Contains(db.Roles(), role) {
		var names []string
		for _, known := range db.Roles() {
			names = append(names, string(known))
		}
		return nil, &applock.InvalidError{
			Argument: "Role", Reason: fmt.Sprintf("%q must be one of %s", request.Role, strings.Join(names, ", ")),
		}
	}
	if err := checkGrantee("To", request.To); err != nil {
		return nil, err
	}
	schema := cmp.Or(request.Schema, dialect.defaultSchema)
	if schema != "" {
		if err := db.CheckSchema(schema); err != nil {
			return nil, &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", schema, err)}
		}
	}
	statements, err := dialect.grants(schema, role, request.To)
	if err != nil {
		return nil, &applock.InvalidError{Argument: "To", Reason: err.Error()}
	}
	return statements, nil
}

func checkGrantee(argument, name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &applock.InvalidError{Argument: argument, Reason: "must be a name without control characters"}
	}
	return nil
}

// MissingGrant is somebody with an incomplete role.
type MissingGrant struct {
	// To is who has it, as GrantRequest names it.
	To string
	// Role is the one that they have the first right of.
	Role string
	// Operations are those that the role has and they have in neither form, and the forms that they lack who have both of
	// other operations.
	Operations []string
}

// MissingGrantsRequest is what MissingGrants looks for. Its zero value is usable.
type MissingGrantsRequest struct{}

// MissingGrantsResult is what MissingGrants has found.
type MissingGrantsResult struct {
	Missing []MissingGrant
	// Known is false where nobody can tell: on Db2 and SQLite.
	Known bool
}

// MissingGrants returns who may call some of a role's operations and not the others, as after an upgrade that brings
// operations, which grants nobody those. Whoever may get is taken for an operator, whoever may transfer for a supervisor,
// whoever may purge for a janitor, and who may list and nothing of that for an auditor. It changes nothing. It returns
// ErrPrivilege where the client may not see the grants: on MySQL and MariaDB they are in mysql.procs_priv. On Db2, whose
// catalogue it does not read, and on SQLite it finds nothing.
func MissingGrants(ctx context.Context, client *applock.Client, _ MissingGrantsRequest) (MissingGrantsResult, error) {
	var result MissingGrantsResult
	err := onTarget(ctx, client, "missing grants", func(_ db.Handle, target migrate.Target) error {
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

// onTarget runs what needs a database as it is migrated.
func onTarget(
	ctx context.Context, client *applock.Client, name string, command func(db.Handle, migrate.Target) error,
) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, clients.Explain(err))
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	handle, err := clients.Driver(client).Handle()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	dialect, err := dialectOf(handle.Dialect)
	if err != nil {
		return err
	}
	target, err := dialect.target(handle)
	if err != nil {
		return err
	}
	if target.Close != nil {
		defer func() { err = errors.Join(err, target.Close()) }()
	}
	return command(handle, target)
}
