package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

// migrationAnswer is one step of the schema.
type migrationAnswer struct {
	Outcome   applock.Outcome `json:"outcome"`
	Version   int64           `json:"version"`
	Name      string          `json:"name"`
	AppliedAt timestamp       `json:"applied_at"`
}

func (m migrationAnswer) fields() []field {
	applied := field{title: "APPLIED", value: m.AppliedAt}
	if time.Time(m.AppliedAt).IsZero() {
		applied.value = word("pending")
	}
	return []field{{title: "VERSION", value: m.Version}, {title: "NAME", value: m.Name}, applied}
}

func (a *app) migrateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate up|down|status|print",
		Short: "Install, update or remove the table and the procedures",
		Long: `Installs, updates or removes the table and the procedures, in numbered steps. Nothing
works before "applockctl migrate up", which also creates a SQLite file, or before a database administrator
has run what "applockctl migrate print" prints.`,
		Example: `  applockctl migrate status
  applockctl migrate up
  applockctl migrate print --dialect postgres > applock.sql`,
		DisableFlagsInUseLine: true,
	}
	command.AddCommand(a.migrateUpCommand(), a.migrateDownCommand(), a.migrateStatusCommand(), a.migratePrintCommand())
	return command
}

func (a *app) migrateUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Apply all pending steps",
		Long: `Applies all pending steps and prints them; none when everything is up to date. Any number of
processes may do so on one database at once: each step is applied once.

--timeout bounds only connecting, because one migrator waits for the others. Ctrl-C ends that.`,
		Example: `  applockctl migrate up
  APPLOCK_DSN=postgres://dba@db.example.com/crm applockctl --schema crm_lock migrate up`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.migrateUp(ctx)
		}),
	}
}

func (a *app) migrateUp(ctx context.Context) error {
	return a.call(ctx, "migrate up", func(ctx context.Context, s session) error {
		s.pause()
		applied, err := migrate.Up(ctx, s.Client, migrate.UpRequest{})
		if err != nil {
			return err
		}
		if err := a.printApplied(ctx, s, applied.Steps); err != nil {
			return err
		}
		a.noteMissingGrants(ctx, s)
		return nil
	})
}

// printApplied prints the steps that have just been applied.
func (a *app) printApplied(ctx context.Context, s session, applied []migrate.Migration) error {
	if a.quiet {
		return nil
	}
	// Only the status knows when, by the database's clock.
	all, err := migrate.Status(ctx, s.Client, migrate.StatusRequest{})
	if err != nil {
		return err
	}
	steps := slices.DeleteFunc(all.Steps, func(step migrate.Migration) bool {
		return !slices.ContainsFunc(applied, func(done migrate.Migration) bool { return done.Version == step.Version })
	})
	return a.printSteps(steps, outcomePending, "nothing to do, all steps were applied before")
}

func (a *app) migrateDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Undo the newest step",
		Long: `Undoes the newest applied step and prints it. Undoing the first step drops the table with all its
locks.

--timeout bounds only connecting, because one migrator waits for the others. Ctrl-C ends that.`,
		Example:               `  applockctl migrate down`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.migrateDown(ctx)
		}),
	}
}

func (a *app) migrateDown(ctx context.Context) error {
	return a.call(ctx, "migrate down", func(ctx context.Context, s session) error {
		s.pause()
		undone, err := migrate.Down(ctx, s.Client, migrate.DownRequest{})
		if err != nil {
			return err
		}
		if a.quiet {
			return nil
		}
		return a.printSteps(undone.Steps, outcomeUndone, "nothing to do, no step is applied")
	})
}

func (a *app) migrateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "status",
		Short:                 "Print all steps and when each was applied",
		Long:                  `Prints all steps and when each was applied, or that it is pending. It changes nothing.`,
		Example:               `  applockctl migrate status --output json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.migrateStatus(ctx)
		}),
	}
}

func (a *app) migrateStatus(ctx context.Context) error {
	return a.call(ctx, "migrate status", func(ctx context.Context, s session) error {
		status, err := migrate.Status(ctx, s.Client, migrate.StatusRequest{})
		if err != nil {
			return err
		}
		if err := a.printSteps(status.Steps, outcomePending, ""); err != nil {
			return err
		}
		a.noteMissingGrants(ctx, s)
		return nil
	})
}

// printSteps prints steps, of which those that are not applied have this outcome; or on stderr why there are none.
func (a *app) printSteps(steps []migrate.Migration, notApplied applock.Outcome, none string) error {
	if len(steps) == 0 {
		a.note("%s", none)
		return nil
	}
	p := a.newPrinter(migrationAnswer{})
	for _, step := range steps {
		answer := migrationAnswer{Outcome: outcomeApplied, Version: step.Version, Name: step.Name, AppliedAt: timestamp(step.AppliedAt)}
		if step.AppliedAt.IsZero() {
			answer.Outcome = notApplied
		}
		if err := p.print(answer); err != nil {
			return err
		}
	}
	return p.end()
}

func (a *app) migratePrintCommand() *cobra.Command {
	var dialect, platform string
	command := &cobra.Command{
		Use:   "print [--dialect NAME] [--platform NAME]",
		Short: "Print all steps as SQL",
		Long: `Prints all steps as SQL for the database's own command-line client, for a database administrator to
read and to run by hand: in one transaction, except on MySQL, which has none around CREATE. A database
installed that way and one installed by "applockctl migrate up" are the same. It does not connect, and
prints SQL with --output json, too.

For Db2 --platform says luw (Linux, UNIX and Windows, for the command line processor) or zos (for SPUFI or
DSNTEP2, which get no line longer than 72 columns).`,
		Example: `  applockctl migrate print --dialect postgres | psql -v ON_ERROR_STOP=1 -f -
  applockctl migrate print --dialect mysql | mysql crm
  applockctl migrate print --dialect db2 > applock.sql && db2 +c -s -td@ -vf applock.sql && db2 commit
  applockctl --schema crmlock migrate print --dialect db2 --platform zos > applock.sql
  applockctl --schema crm_lock migrate print --dialect postgres > applock.sql`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(context.Context, []string) error {
			return a.migratePrint(dialect, platform)
		}),
	}
	command.Flags().StringVar(&dialect, "dialect", "", "the kind of database; without it that of the DSN")
	complete(command, "dialect", dialectNames()...)
	command.Flags().StringVar(&platform, "platform", "", "the kind of system that a db2 database is on: luw or zos")
	complete(command, "platform", "luw", "zos")
	return command
}

func (a *app) migratePrint(dialect, platform string) error {
	dialect, err := a.dialectName(dialect)
	if err != nil {
		return fmt.Errorf("migrate print: %w", err)
	}
	script, err := migrate.Script(migrate.ScriptRequest{Dialect: dialect, Platform: platform, Schema: a.schema})
	if err != nil {
		return fmt.Errorf("migrate print: %w", err)
	}
	_, err = io.WriteString(a.stdout, script)
	return wrapWrite(err)
}

func dialectNames() []string {
	var names []string
	for _, known := range open.Dialects() {
		names = append(names, known.Name)
	}
	return names
}
