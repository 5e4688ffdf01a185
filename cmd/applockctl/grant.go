package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/cmd/internal/secret"
)

type grantAnswer struct {
	Outcome    string   `json:"outcome"`
	Role       string   `json:"role"`
	To         string   `json:"to"`
	Statements []string `json:"statements"`
}

func (g grantAnswer) fields() []table.Field {
	return []table.Field{{Title: "OUTCOME", Value: table.Word(g.Outcome)}, {Title: "ROLE", Value: table.Word(g.Role)}, {Title: "TO", Value: g.To}}
}

func (a *app) grantCommand() *cobra.Command {
	var request migrate.GrantRequest
	var script migrate.GrantScriptRequest
	var printed bool
	command := &cobra.Command{
		Use:   "grant --to NAME --as operator|supervisor|auditor|janitor|administrator [--print [--dialect NAME]]",
		Short: "Grant the rights of a role",
		Long: `Grants a database user or role the rights to call the procedures: an operator locks, looks and releases; a
supervisor also hands locks over and takes them; an auditor only reads; the janitor purges; an administrator
sets policies. No role needs a right on the tables. NAME must exist. On MySQL and MariaDB it may be
NAME@HOST, and is NAME@% without a host; on Db2 it is a role.

Run it as the owner of the procedures, on MySQL and MariaDB as an administrator, and again after an upgrade
with new operations: "migrate up" and "migrate status" name the accounts that lack them.

It fails if the role does not have all rights afterwards, and names the owner who can grant them. With
--print it prints the SQL, to read and run by hand, and does not connect. PostgreSQL itself only warns where
it grants nothing.`,
		Example: `  applockctl grant --to shop_app --as operator
  applockctl grant --to cron@10.0.0.% --as janitor
  applockctl grant --to shop_app --as operator --print --dialect postgres | psql -v ON_ERROR_STOP=1 -f -`,
		RunE: body(func(ctx context.Context, _ []string) error {
			if printed {
				script.Schema, script.Role, script.To = a.schema, request.Role, request.To
				return a.printScript("grant", &script.Dialect, func() (string, error) { return migrate.GrantScript(script) })
			}
			return a.call(ctx, "grant", func(ctx context.Context, s session) error {
				result, err := migrate.Grant(ctx, s.Client, request)
				if err != nil {
					return err
				}
				return a.answer(true, grantAnswer{Outcome: "GRANTED", Role: request.Role, To: request.To, Statements: result.Statements})
			})
		}),
	}
	command.Flags().StringVar(&request.To, "to", "", "the database user or role")
	command.Flags().StringVar(&request.Role, "as", "", "the role: operator, supervisor, auditor, janitor or administrator")
	command.Flags().BoolVar(&printed, "print", false, "print the SQL instead of running it")
	command.Flags().StringVar(&script.Dialect, "dialect", "", "with --print, the kind of database; by default that of the DSN")
	complete(command, "as", "operator", "supervisor", "auditor", "janitor", "administrator")
	complete(command, "dialect", dialectNames()...)
	require(command, "to", "as")
	return command
}

func (a *app) revokeCommand() *cobra.Command {
	var request migrate.RevokeRequest
	command := &cobra.Command{
		Use:   "revoke --from NAME [--print]",
		Short: "Revoke all rights of a user or role",
		Long: `Revokes from a database user or role the rights to all operations, whatever roles they were granted in.
Rights as a member of another role, or on the whole database, stay. Locks stay, too. On PostgreSQL PUBLIC
loses its rights as well, and a right that another role has granted is an error: nothing is revoked then.

Run it as the owner of the procedures; on MySQL and MariaDB as an account that may read mysql.procs_priv.
With --print it prints the SQL, and changes nothing. On Db2 the administrator revokes.`,
		Example: `  applockctl revoke --from shop_app
  applockctl revoke --from cron@10.0.0.% --print`,
		RunE: a.calls("revoke", func(ctx context.Context, s session) error { return a.revoke(ctx, s, request) }),
	}
	command.Flags().StringVar(&request.From, "from", "", "the database user or role")
	command.Flags().BoolVar(&request.DryRun, "print", false, "print the SQL instead of running it")
	require(command, "from")
	return command
}

type revokeAnswer struct {
	Outcome    string   `json:"outcome"`
	From       string   `json:"from"`
	Statements []string `json:"statements"`
}

func (r revokeAnswer) fields() []table.Field {
	return []table.Field{{Title: "OUTCOME", Value: table.Word(r.Outcome)}, {Title: "FROM", Value: r.From}}
}

func (a *app) revoke(ctx context.Context, s session, request migrate.RevokeRequest) error {
	result, err := migrate.Revoke(ctx, s.Client, request)
	switch {
	case err != nil:
		return err
	case request.DryRun:
		for _, statement := range result.Statements {
			if _, err := fmt.Fprintf(a.stdout, "%s;\n", statement); err != nil {
				return wrapWrite(err)
			}
		}
		return nil
	}
	return a.answer(true, revokeAnswer{Outcome: "REVOKED", From: request.From, Statements: append([]string{}, result.Statements...)})
}

// noteMissingGrants lists accounts whose role is incomplete. That is no failure, since it may be intended.
func (a *app) noteMissingGrants(ctx context.Context, s session) {
	result, err := migrate.MissingGrants(ctx, s.Client)
	switch {
	case errors.Is(err, applock.ErrPrivilege): // the account may migrate, but may not read others' grants
		a.note("cannot tell which accounts lack a grant, and what the owners of procedures and views may do: "+
			"this account may not read the database mysql; let an administrator run: %s", a.commandLine("verify"))
	case err != nil:
		a.complain("cannot tell whether all grants are complete: %s", oneLine(secret.Redact(err.Error())))
	}
	for _, missing := range result.Missing {
		a.complain("%s, as %s, may not call %s; grant it with: %s", oneLine(missing.To), missing.Role, strings.Join(missing.Operations, ", "),
			a.commandLine("grant", "--to", secret.Quote(missing.To), "--as", missing.Role))
	}
}
