package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
)

func (a *app) migrateStatusCommand() *cobra.Command {
	var exitCode bool
	command := &cobra.Command{
		Use:   "status [--exit-code]",
		Short: "Print all steps, and what differs from them",
		Long: `Prints all steps: when each was applied, whether it is pending, or whether this program does not know it.
Then it compares the database with the applied steps: tables, indexes, procedures and their text, owners
and whether they have too many rights, and rights that nobody should have. It changes nothing. "verify" does
all that and more.

The exit code is 1 if something is missing or different, for example after a restore. stderr says what, and
the command that mends it. It is also 1 if this program is older than the schema, and with --exit-code (for
CI) if steps are pending.`,
		Example: `  applockctl migrate status --output json
  applockctl migrate status --exit-code || echo "migrate first"`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.migrateStatus(ctx, exitCode) }),
	}
	command.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if steps are pending")
	return command
}

func (a *app) migrateStatus(ctx context.Context, exitCode bool) error {
	const operation = "migrate status"
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		status, err := migrate.Status(ctx, s.Client)
		if err != nil {
			return err
		}
		var answers []migrationAnswer
		good := status.Newer == nil && len(status.Findings) == 0
		for _, step := range status.Steps {
			answer := answerOf(step)
			answers = append(answers, answer)
			good = good && (!exitCode || answer.Outcome != outcomePending)
		}
		if a.output == formatJSON { // the table's reader gets them on stderr, with the way to mend them
			answers = append(answers, answersOfFindings(a.grouped(status.Findings), outcomeDamaged)...)
		}
		if err := a.printMigrations(answers, ""); err != nil {
			return err
		}
		if status.Newer != nil {
			a.complain("%s: %s: %s", program, operation, status.Newer)
		}
		a.report(program+": "+operation+":", status.Findings)
		a.noteMissingGrants(ctx, s)
		return yesIf(good)
	})
}

// answersOfFindings gives all findings the same outcome.
func answersOfFindings(findings []migrate.Finding, outcome applock.Outcome) []migrationAnswer {
	var answers []migrationAnswer
	for _, finding := range findings {
		answers = append(answers, migrationAnswer{Outcome: outcome, Name: finding.Name, Problem: finding.Problem})
	}
	return answers
}

func (a *app) migrateRepairCommand() *cobra.Command {
	var request migrate.RepairRequest
	command := &cobra.Command{
		Use:   "repair [--owner NAME]",
		Short: "Repair an installation, for example after a restore",
		Long: `Restores what "migrate status" reports: missing indexes, missing or different procedures, their owner, and
rights that PUBLIC must not have. It touches no lock, grants nothing new and leaves correct objects alone. On
MySQL and MariaDB a replaced procedure keeps its grants if this account may read mysql.procs_priv, and loses
them otherwise. Run it at any time. The exit code is 1 if something is left that it cannot mend.

--owner gives everything to another account, one with few rights. Use it after root or a superuser has
migrated, or if the owner does not exist any more (MySQL, MariaDB). Locks and grants stay. NAME must exist
and have the rights to migrate. On MySQL and MariaDB it may be NAME@HOST, and a call fails while its
procedure is created anew.

--timeout bounds only connecting: a migration may have to wait for another one. Ctrl-C ends the wait.`,
		Example: `  applockctl migrate repair
  applockctl migrate repair --owner applock_dba`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.migrateRepair(ctx, request) }),
	}
	command.Flags().StringVar(&request.Owner, "owner", "", "the account that shall own everything")
	return command
}

func (a *app) migrateRepair(ctx context.Context, request migrate.RepairRequest) error {
	const operation = "migrate repair"
	repaired := func(ctx context.Context, s session, result migrate.RepairResult) error {
		none := "nothing to do, everything is as it should be"
		if len(result.Left) > 0 {
			none = "nothing was repaired"
		}
		if err := a.printDone(answersOfFindings(a.grouped(result.Repaired), outcomeRepaired), none); err != nil {
			return err
		}
		a.report(program+": "+operation+":", result.Left)
		a.noteMissingGrants(ctx, s)
		return yesIf(len(result.Left) == 0)
	}
	return migrating(ctx, a, operation, request, migrate.Repair, repaired)
}
