package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock/migrate"
)

func (a *app) migrateUpCommand() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use:   "up [--dry-run]",
		Short: "Apply all pending steps",
		Long: `Applies all pending steps and prints them. Several processes may do so on one database at once: each step is
applied once. Exit code 1 means that the applied steps are damaged: "migrate repair" mends them. A program
that is older than the schema says so, and exits with 4.

The account that migrates becomes the owner, and the procedures run with its rights. Use an account that can
migrate and no more. If it is root or a superuser, stderr says once what to do, and "verify" fails.

--dry-run prints the pending steps and changes nothing; "migrate print" prints their SQL.

--timeout bounds only connecting: a migration may have to wait for another one. Ctrl-C ends the wait.`,
		Example: `  applockctl migrate up
  APPLOCK_DSN=postgres://dba@db.example.com/crm applockctl --schema crm_lock migrate up`,
		RunE: body(func(ctx context.Context, _ []string) error {
			if dryRun {
				return a.migrateDryRun(ctx)
			}
			return a.migrateUp(ctx)
		}),
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print the pending steps, and change nothing")
	return command
}

const allApplied = "nothing to do, all steps were applied before"

func (a *app) migrateUp(ctx context.Context) error {
	const operation = "migrate up"
	applied := func(ctx context.Context, s session, applied migrate.UpResult) error {
		all, err := migrate.Status(ctx, s.Client)
		if err != nil {
			return err
		}
		if err := a.printDone(answersOfApplied(applied.Steps, all), allApplied); err != nil {
			return err
		}
		damaged := slices.DeleteFunc(slices.Clone(all.Findings), func(f migrate.Finding) bool { return !damages(f) })
		a.report(program+": "+operation+":", damaged)
		if len(applied.Steps) > 0 && len(damaged) == 0 {
			a.report("installed, but", all.Findings) // owners with too many rights hinder nothing: once is enough
		}
		a.noteMissingGrants(ctx, s)
		return yesIf(len(damaged) == 0)
	}
	return migrating(ctx, a, operation, migrate.UpRequest{}, migrate.Up, applied)
}

// answersOfApplied returns the steps of an Up. The status adds when they were applied, by the database's clock, and what has changed since.
func answersOfApplied(steps []migrate.Migration, all migrate.StatusResult) []migrationAnswer {
	var answers []migrationAnswer
	for _, step := range all.Steps {
		if slices.ContainsFunc(steps, func(done migrate.Migration) bool { return done.Version == step.Version }) {
			answers = append(answers, answerOf(step))
		}
	}
	return answers
}

func (a *app) migrateDryRun(ctx context.Context) error {
	return a.call(ctx, "migrate up", func(ctx context.Context, s session) error {
		pending, err := migrate.Up(ctx, s.Client, migrate.UpRequest{DryRun: true})
		if err != nil {
			return err
		}
		return a.printMigrations(answersOf(pending.Steps, outcomePending), allApplied)
	})
}

// yesIf returns errNo if yes is false.
func yesIf(yes bool) error {
	if yes {
		return nil
	}
	return errNo
}
