package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// migrationAnswer is one step of the schema, or one deviation from it.
type migrationAnswer struct {
	Outcome   applock.Outcome `json:"outcome"`
	Version   int64           `json:"version"`
	Name      string          `json:"name"`
	AppliedAt table.Timestamp `json:"applied_ts"`
	Problem   string          `json:"problem"`
}

func (m migrationAnswer) fields() []table.Field {
	switch m.Outcome {
	case outcomeDamaged, outcomeRepaired:
		return []table.Field{{Title: "OUTCOME", Value: m.Outcome}, {Title: "NAME", Value: m.Name}, {Title: "PROBLEM", Value: m.Problem}}
	case outcomeUninstalled:
		return []table.Field{{Title: "OUTCOME", Value: m.Outcome}}
	}
	applied := table.Field{Title: "APPLIED", Value: m.AppliedAt}
	if time.Time(m.AppliedAt).IsZero() {
		applied.Value = table.Word("pending")
	}
	return []table.Field{{Title: "VERSION", Value: m.Version}, {Title: "NAME", Value: m.Name}, applied}
}

// answerOf returns a step as the status sees it.
func answerOf(step migrate.Migration) migrationAnswer {
	answer := migrationAnswer{
		Outcome: outcomeApplied, Version: step.Version, Name: step.Name, AppliedAt: table.Timestamp(step.AppliedAt),
	}
	switch {
	case step.Unknown:
		answer.Outcome = outcomeUnknown
	case step.AppliedAt.IsZero():
		answer.Outcome = outcomePending
	}
	return answer
}

// answersOf gives all steps the same outcome.
func answersOf(steps []migrate.Migration, outcome applock.Outcome) []migrationAnswer {
	var answers []migrationAnswer
	for _, step := range steps {
		answer := answerOf(step)
		answer.Outcome = outcome
		answers = append(answers, answer)
	}
	return answers
}

func (a *app) migrateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate up|down|goto|status|repair|print|uninstall",
		Short: "Install, update, check or remove the table and the procedures",
		Long: `Installs, updates, checks or removes the tables and procedures, in numbered steps. Run "applockctl migrate
up" first, which also creates a SQLite file, or let a database administrator run what "applockctl migrate
print" prints.`,
		Example: `  applockctl migrate status
  applockctl migrate up
  applockctl migrate print --dialect postgres > applock.sql`,
	}
	command.AddCommand(
		a.migrateUpCommand(), a.migrateDownCommand(), a.migrateGotoCommand(), a.migrateStatusCommand(),
		a.migrateRepairCommand(), a.migratePrintCommand(), a.migrateUninstallCommand(),
	)
	return command
}

// printMigrations prints the answers, or on stderr the reason why there are none.
func (a *app) printMigrations(answers []migrationAnswer, none string) error {
	if len(answers) == 0 {
		a.note("%s", none)
		return nil
	}
	return printEach(a, answers[0], answers, func(answer migrationAnswer) record { return answer })
}

// printDone prints the steps that were done, unless --quiet is set.
func (a *app) printDone(answers []migrationAnswer, none string) error {
	if a.quiet {
		return nil
	}
	return a.printMigrations(answers, none)
}

// migrationPatience is how long a migration runs before the program explains the wait.
const migrationPatience = 2 * time.Second

// migrating runs work, which may wait for other migrators without a limit, and then answer. It tells a person at the terminal about the wait.
func migrating[R, T any](
	ctx context.Context, a *app, operation string, request R, work func(context.Context, *applock.Client, R) (T, error),
	answer func(ctx context.Context, s session, done T) error,
) error {
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		var done T
		err := a.patiently(ctx, operation, s, func() (err error) {
			done, err = work(ctx, s.Client, request)
			return err
		})
		if err != nil {
			return err
		}
		return answer(ctx, s, done)
	})
}

func (a *app) patiently(ctx context.Context, operation string, s session, work func() error) error {
	s.pause()
	done := make(chan error, 1)
	go func() { done <- work() }()
	timer := time.NewTimer(migrationPatience)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		a.explainWait(operation)
		err = <-done
	}
	if live, is := errors.AsType[*migrate.LiveLocksError](err); is {
		a.complain("%s: %s: %s; %s; --force continues", program, operation, live, a.wayToLocks(ctx, s))
		return errNo
	}
	return err
}

// wayToLocks names a command that works: where steps are pending, list itself would ask for "migrate up".
func (a *app) wayToLocks(ctx context.Context, s session) string {
	pending, err := migrate.Up(ctx, s.Client, migrate.UpRequest{DryRun: true})
	if err == nil && len(pending.Steps) > 0 {
		return "to list or release them, run this first: " + a.commandLine("migrate", "up")
	}
	return "list them with: " + a.commandLine("list")
}

// explainWait explains the wait at a terminal only.
func (a *app) explainWait(operation string) {
	if a.terminal {
		a.note("%s: still at work, or waiting for another migrator; Ctrl-C ends it", operation)
	}
}

// report prints one line for each finding, with the command that mends it.
func (a *app) report(begin string, findings []migrate.Finding) {
	for _, finding := range alike(findings) {
		a.complain("%s %s; %s", begin, oneLine(fmt.Sprintf("%s %s", finding.Name, finding.Problem)), a.wayOut(finding))
	}
}

// plainOwner is the step before the command of newOwner.
const plainOwner = "create an account NAME that can migrate and no more"

// newOwner is the command that gives all objects to another account.
func (a *app) newOwner() string { return a.commandLine("migrate", "repair", "--owner", "NAME") }

// damages reports whether a finding is damage. An owner with too many rights is a finding, but hinders nothing. One with too few hinders every
// call, and another owner of the schema can replace what is in it.
func damages(finding migrate.Finding) bool {
	return finding.Part != migrate.PartOwners || finding.Repairable ||
		strings.HasPrefix(finding.Problem, "lacks ") || strings.HasPrefix(finding.Name, "schema ")
}

// mending returns the command that mends a finding; empty if there is none.
func (a *app) mending(finding migrate.Finding) string {
	switch {
	case finding.NeedsOwner: // even if repairable: a repair needs the new owner's name
		return a.newOwner()
	case finding.Repairable:
		return a.commandLine("migrate", "repair")
	case finding.Part == migrate.PartSteps && strings.HasPrefix(finding.Name, "table "):
		return a.commandLine("migrate", "up") // which adopts what equals a step
	}
	return ""
}

// wayOut returns the way to mend a finding.
func (a *app) wayOut(finding migrate.Finding) string {
	switch command := a.mending(finding); {
	case finding.NeedsOwner:
		return plainOwner + "; mend it with: " + command
	case command != "":
		return "mend it with: " + command
	case finding.Statement != "":
		return "mend it with the SQL: " + finding.Statement
	}
	return "restore it from a backup"
}
