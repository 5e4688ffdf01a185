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
		Short: "Print all steps and what is not as they have left it",
		Long: `Prints all steps and when each was applied, that it is pending, or that this program does not know it.
Then it compares what is there with what the applied steps have left: tables, indexes, procedures and their
text, owners and whether these may do too much, and rights that nobody should have. It changes nothing.
"verify" looks at the rest, too.

The exit code is 1 if something is missing or different, after a restore for example: stderr says what,
and the command that mends it. It is also 1 if this program is older than the schema, and with
--exit-code if steps are pending, for CI.`,
		Example: `  applockctl migrate status --output json
  applockctl migrate status --exit-code || echo "migrate first"`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.migrateStatus(ctx, exitCode)
		}),
	}
	command.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if steps are pending")
	return command
}

func (a *app) migrateStatus(ctx context.Context, exitCode bool) error {
	const operation = "migrate status"
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		status, err := migrate.Status(ctx, s.Client, migrate.StatusRequest{})
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
		if a.output == formatJSON { // people are told on stderr, with what to do
			answers = append(answers, answersOfFindings(a.grouped(status.Findings), outcomeDamaged)...)
		}
		if err := a.printMigrations(answers, ""); err != nil {
			return err
		}
		if status.Newer != nil {
			a.complain("%s: %s: %s", program, operation, status.Newer)
		}
		a.report(operation, status.Findings)
		a.noteMissingGrants(ctx, s)
		return yesIf(good)
	})
}

// answersOfFindings are findings with one word for all.
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
		Short: "Put back what a restore has lost",
		Long: `Puts back what "migrate status" finds: indexes that are missing, procedures that are missing or different,
their owner, and the rights that everybody shall not have. It touches no lock and grants nothing. What is
as it should be it leaves alone, with its grants. On MySQL and MariaDB a procedure that it has to replace
gets its grants again where this account may read mysql.procs_priv, and loses them elsewhere. It may be run
again at any time. The exit code is 1 if something is left that it cannot mend.

With --owner it gives everything to another account, such as one with few rights where root or a superuser
has migrated, or where the owner is gone (MySQL, MariaDB). Locks stay, and so do grants. NAME has to exist,
and to have what migrating needs; on MySQL and MariaDB it may be NAME@HOST, and a call fails while its
procedure is made anew.

--timeout bounds only connecting, because one migrator waits for the others. Ctrl-C ends that.`,
		Example: `  applockctl migrate repair
  applockctl migrate repair --owner applock_dba`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.migrateRepair(ctx, request)
		}),
	}
	command.Flags().StringVar(&request.Owner, "owner", "", "the account that shall own everything")
	return command
}

func (a *app) migrateRepair(ctx context.Context, request migrate.RepairRequest) error {
	const operation = "migrate repair"
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		var result migrate.RepairResult
		err := a.patiently(operation, s, func() (err error) {
			result, err = migrate.Repair(ctx, s.Client, request)
			return err
		})
		if err != nil {
			return err
		}
		none := "nothing to do, everything is as it should be"
		if len(result.Left) > 0 {
			none = "nothing was repaired"
		}
		if err := a.printDone(answersOfFindings(a.grouped(result.Repaired), outcomeRepaired), none); err != nil {
			return err
		}
		a.report(operation, result.Left)
		a.noteMissingGrants(ctx, s)
		return yesIf(len(result.Left) == 0)
	})
}
