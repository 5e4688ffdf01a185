package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/cmd/internal/secret"
)

const forceHelp = "continue although locks are live"

func (a *app) migrateDownCommand() *cobra.Command {
	var request migrate.DownRequest
	command := &cobra.Command{
		Use:   "down [--force]",
		Short: "Undo the newest step",
		Long: `Undoes the newest applied step and prints it. Undoing the first step drops the tables with all locks. Other
steps keep the locks, but programs may be unable to renew or release them until "migrate up". While locks
are live it undoes nothing, with exit code 1, unless --force is given. Rights end with the procedures: stderr
has the commands that grant them after the next "migrate up".

--timeout bounds only connecting: a migration may have to wait for another one. Ctrl-C ends the wait.`,
		Example: `  applockctl migrate down`,
		RunE: body(func(ctx context.Context, _ []string) error {
			return migrating(ctx, a, "migrate down", request, migrate.Down, func(_ context.Context, _ session, undone migrate.DownResult) error {
				if err := a.printDone(answersOf(undone.Steps, outcomeUndone), "nothing to do, no step is applied"); err != nil {
					return err
				}
				a.tellLost("migrate down", len(undone.Steps) > 0, undone.Lost)
				return nil
			})
		}),
	}
	command.Flags().BoolVar(&request.Force, "force", false, forceHelp)
	return command
}

func (a *app) migrateGotoCommand() *cobra.Command {
	var request migrate.GotoRequest
	command := &cobra.Command{
		Use:   "goto VERSION [--force]",
		Short: "Apply or undo steps until VERSION is the newest",
		Long: `Applies or undoes steps until VERSION is the newest applied one, and prints them. 0 undoes all, and drops
the tables with all locks. While locks are live it undoes nothing, with exit code 1, unless --force is
given.

--timeout bounds only connecting: a migration may have to wait for another one. Ctrl-C ends the wait.`,
		Example: `  applockctl migrate goto 2`,
		Args:    oneVersion,
		RunE: body(func(ctx context.Context, args []string) error {
			var err error
			if request.Version, err = strconv.ParseInt(args[0], 10, 64); err != nil {
				return fmt.Errorf("migrate goto: %w", &applock.InvalidError{Argument: "VERSION", Reason: "must be a number"})
			}
			return a.migrateGoto(ctx, request)
		}),
	}
	command.Flags().BoolVar(&request.Force, "force", false, forceHelp)
	return command
}

func oneVersion(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("write one VERSION, not %d", len(args))
	}
	return nil
}

func (a *app) migrateGoto(ctx context.Context, request migrate.GotoRequest) error {
	return migrating(ctx, a, "migrate goto", request, migrate.Goto, func(ctx context.Context, s session, done migrate.GotoResult) error {
		answers := answersOf(done.Steps, outcomeUndone)
		if !done.Undone {
			all, err := migrate.Status(ctx, s.Client)
			if err != nil {
				return err
			}
			answers = answersOfApplied(done.Steps, all)
		}
		if err := a.printDone(answers, "nothing to do, the database is at this step already"); err != nil {
			return err
		}
		if done.Undone {
			a.tellLost("migrate goto", len(done.Steps) > 0, done.Lost)
		}
		return nil
	})
}

// tellLost prints the commands that grant what accounts have lost with the procedures.
func (a *app) tellLost(operation string, undone bool, lost migrate.LostRoles) {
	if !lost.Known && undone {
		a.complain("%s: %s: programs have lost their rights to what was removed, and this account may not read which; \"migrate up\" grants none: "+
			"then an administrator finds those that had more with: %s", program, operation, a.commandLine("verify"))
	}
	for _, role := range lost.Roles {
		a.complain("%s: %s: %s, as %s, has lost rights; after \"migrate up\" grant them with: %s", program, operation, oneLine(role.To), role.Role,
			a.commandLine("grant", "--to", secret.Quote(role.To), "--as", role.Role))
	}
}

func (a *app) migrateUninstallCommand() *cobra.Command {
	var request migrate.UninstallRequest
	var yes bool
	command := &cobra.Command{
		Use:   "uninstall --yes [--force]",
		Short: "Remove everything that was installed",
		Long: `Removes the tables with all locks, the procedures, the table of the steps, and the schema if it is empty
then (on MySQL and MariaDB only that of --schema; on Db2 it stays). While locks are live it removes nothing,
with exit code 1, unless --force is given. On PostgreSQL and SQLite it is one transaction. Rights end with
the procedures, as with "migrate down".

--timeout bounds only connecting: a migration may have to wait for another one. Ctrl-C ends the wait.`,
		Example: `  applockctl migrate uninstall --yes`,
		RunE: body(func(ctx context.Context, _ []string) error {
			if !yes {
				return a.uninstallWithoutYes()
			}
			return a.migrateUninstall(ctx, request)
		}),
	}
	command.Flags().BoolVar(&yes, "yes", false, "confirm the removal")
	command.Flags().BoolVar(&request.Force, "force", false, "continue although live locks are lost")
	return command
}

func (a *app) migrateUninstall(ctx context.Context, request migrate.UninstallRequest) error {
	const operation = "migrate uninstall"
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		var result migrate.UninstallResult
		err := a.patiently(ctx, operation, s, func() (err error) {
			result, err = migrate.Uninstall(ctx, s.Client, request)
			return err
		})
		if err != nil {
			return err
		}
		if err := a.printDone([]migrationAnswer{{Outcome: outcomeUninstalled}}, ""); err != nil {
			return err
		}
		a.tellLost(operation, true, result.Lost)
		return nil
	})
}

// uninstallWithoutYes lists what would be lost.
func (a *app) uninstallWithoutYes() error {
	dsn, err := a.database()
	if err == nil {
		err = &applock.InvalidError{
			Argument: "--yes",
			Reason: "is missing: all locks, live or not, the tables, the procedures and the record of the steps would be removed from " +
				a.place(dsn) + "; see the live ones with: " + a.commandLine("list"),
		}
	}
	return fmt.Errorf("migrate uninstall: %w", err)
}
