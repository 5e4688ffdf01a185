package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/cmd/internal/secret"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/inspect"
)

// defaultStale is twice the age that a purge leaves, so a monthly purge always passes.
const defaultStale = 2 * applock.DefaultPurgeAge

// verifyAnswer is the result of one check. Repair is a command of this program, Statement is SQL.
type verifyAnswer struct {
	Outcome   applock.Outcome `json:"outcome"`
	Check     string          `json:"check"`
	Text      string          `json:"text"`
	Repair    string          `json:"repair"`
	Statement string          `json:"statement"`
}

func (v verifyAnswer) fields() []table.Field {
	found := v.Text
	switch {
	case v.Repair != "":
		found += "; mend it with: " + v.Repair
	case v.Statement != "":
		found += "; mend it with the SQL: " + v.Statement
	}
	return []table.Field{{Title: "OUTCOME", Value: v.Outcome}, {Title: "CHECK", Value: table.Word(v.Check)}, {Title: "FOUND", Value: table.Word(found)}}
}

func (a *app) verifyCommand() *cobra.Command {
	v := verifier{app: a, stale: defaultStale, held: defaultHeld}
	command := &cobra.Command{
		Use:   "verify [--older-than 60d] [--held-longer-than 10m] [--look-only]",
		Short: "Check a live installation from end to end",
		Long: `Checks everything that programs rely on, and prints one line for each check: OK, NOTE for what is good to
know, or FAILED with the command that mends it. The exit code is 1 if something has FAILED. Run it as the
account that migrates; what another account may not see is a NOTE. With --look-only it fails as an account
that may not see the steps: an alert must not be silent because it sees nothing.

It compares steps, tables, indexes, the text of procedures, the accounts that they run as (no superuser, and
none that can write on a read-only server), rights that nobody should have, and the grants of each role. On
PostgreSQL it compares sequences with their tables, and looks in the first million locks for
values that no procedure writes. It checks whether the server is a replica or read-only, whether
its settings let a crash lose locks, whether a pooler or a cluster is in between, the clocks
(which no lock depends on), and the first 10,000 rows for objects that have been free for longer than
--older-than. It names the session, prepared transaction or replication slot that has kept the server from
removing old row versions for longer than --held-longer-than, or for 10,000 transactions if the server does
not say how long.

At the end it plays the scenarios of this project's tests on the database, with objects of random types
that begin with verify_, and lets a lock of one second expire. It deletes these rows, also after Ctrl-C, and
changes nothing else. On a read-only server it does not play. Db2 has only a part of the checks. With
--look-only it does not play and changes nothing: for a check every few minutes.`,
		Example: `  applockctl verify
  applockctl verify --output json
  applockctl --quiet verify --look-only --older-than 90d || echo "look at the locks"`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.call(ctx, "verify", v.run) }),
	}
	command.Flags().Var((*duration)(&v.stale), "older-than", "the age at which the row of a free object should have been purged")
	command.Flags().Var((*duration)(&v.held), "held-longer-than", "how long a session may hold a snapshot")
	command.Flags().BoolVar(&v.looksOnly, "look-only", false, "play nothing on the database")
	return command
}

// run makes all checks. A check that gets no answer of the server ends them.
func (v *verifier) run(ctx context.Context, s session) error {
	v.session = s
	if err := v.connection(ctx); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	for _, check := range v.checks() {
		s.restart()
		if err := v.make(ctx, check); err != nil {
			return err
		}
	}
	return v.print()
}

func (v *verifier) make(ctx context.Context, check check) error {
	if check.ofInstalled && !v.installed {
		v.note(check.name, v.unknown())
		return nil
	}
	err := check.look(ctx)
	switch {
	case err == nil:
	case errors.Is(err, errors.ErrUnsupported):
		v.note(check.name, "not checked on "+v.product)
	case check.name == "steps" && errors.Is(err, applock.ErrPrivilege):
		v.hideSteps()
	case check.hidden != "" && errors.Is(err, applock.ErrPrivilege):
		v.note(check.name, check.hidden)
	case ctx.Err() != nil, noAnswer(err):
		return err
	default:
		v.fail(check.name, "cannot be checked: "+err.Error())
	}
	return nil
}

// hideSteps reports the checks that need an account which may see the steps. With --look-only, for an alert, that is a failure: otherwise an
// alert with the wrong account would never sound.
func (v *verifier) hideSteps() {
	v.stepsHidden = true
	if v.looksOnly {
		v.fail("steps", strings.Replace(mayNotSee, "not checked", "cannot be checked", 1))
	} else {
		v.note("steps", mayNotSee)
	}
	for _, part := range parts() {
		v.note(string(part), mayNotSee)
	}
}

// unknown says why a check that needs an installation is not made.
func (v *verifier) unknown() string {
	if v.stepsHidden {
		return mayNotSee
	}
	return notInstalled
}

// parts are the parts of an installation that are compared with the steps.
func parts() []migrate.Part {
	return []migrate.Part{migrate.PartTables, migrate.PartRoutines, migrate.PartViews, migrate.PartOwners, migrate.PartRights}
}

// noAnswer reports whether the server gave no answer to judge.
func noAnswer(err error) bool {
	return errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrClosed)
}

// verifier checks an installation and collects the results.
type verifier struct {
	app     *app
	session session
	stale   time.Duration
	held    time.Duration
	// looksOnly skips the round of real calls.
	looksOnly bool

	answers []verifyAnswer
	product string
	// installed is true if the schema is there, readOnly if the server accepts no changes.
	installed, readOnly bool
	// incomplete is true if a routine or a view is missing.
	incomplete bool
	// stepsHidden is true if the account may not read which steps are applied.
	stepsHidden bool
	// missing lists the incomplete roles. blind is true if the account may not read them.
	missing    migrate.MissingGrantsResult
	missingErr error
	blind      bool
	// needsOwner is true if a repair needs the name of a new owner.
	needsOwner bool
}

// check is one step of verify, named after its first result.
type check struct {
	name string
	look func(ctx context.Context) error
	// ofInstalled is true if there must be a schema.
	ofInstalled bool
	// hidden is the result without the right to look.
	hidden string
}

func (v *verifier) checks() []check {
	return []check{
		{name: "surroundings", look: v.surroundings}, // first, because a replica or a lost node explains the rest
		{name: "steps", look: v.status},
		{name: "contract", look: v.contract, ofInstalled: true},
		{name: "grants", look: v.grants},
		{name: "purge", look: v.purge, ofInstalled: true, hidden: "not checked: this account may not read the table appl_lock"},
		{name: "horizon", look: v.horizon, hidden: "not checked: " + mayNotSeeSessions},
		{name: "round", look: v.round, ofInstalled: true},
	}
}

func (v *verifier) add(outcome applock.Outcome, name, text string) *verifyAnswer {
	v.answers = append(v.answers, verifyAnswer{Outcome: outcome, Check: name, Text: oneLine(secret.Redact(text))})
	return &v.answers[len(v.answers)-1]
}

func (v *verifier) ok(name, text string)   { v.add(outcomeOK, name, text) }
func (v *verifier) note(name, text string) { v.add(outcomeNote, name, text) }

// fail adds a failed result and returns it, so that the caller can add the repair.
func (v *verifier) fail(name, text string) *verifyAnswer { return v.add(outcomeFailed, name, text) }

// print prints the results, and returns errNo if any failed.
func (v *verifier) print() error {
	p := v.app.newPrinter(verifyAnswer{})
	good := true
	for _, answer := range v.answers {
		failed := answer.Outcome == outcomeFailed
		good = good && !failed
		if v.app.quiet && !failed {
			continue
		}
		if err := p.print(answer); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return yesIf(good)
}

func (v *verifier) connection(ctx context.Context) error {
	server, err := v.session.Ping(ctx)
	if err != nil {
		return err
	}
	v.product = server.Product
	v.ok("connection", server.Product+" "+server.Version)
	return nil
}

func (v *verifier) status(ctx context.Context) error {
	v.missing, v.missingErr = migrate.MissingGrants(ctx, v.session.Client)
	v.blind = errors.Is(v.missingErr, applock.ErrPrivilege)
	status, err := migrate.Status(ctx, v.session.Client)
	if err != nil {
		return err
	}
	v.steps(status)
	if status.Newer != nil {
		v.note("schema", "not compared: the schema has steps that this program does not know; run verify with a newer program")
		return nil
	}
	v.incomplete = slices.ContainsFunc(status.Findings, func(f migrate.Finding) bool {
		return f.Problem == "is missing" && (f.Part == migrate.PartRoutines || f.Part == migrate.PartViews)
	})
	v.findings(status.Findings)
	for _, part := range parts() {
		if !slices.ContainsFunc(status.Findings, func(f migrate.Finding) bool { return f.Part == part }) {
			v.good(part, status.Compared)
		}
	}
	return nil
}

// steps reports the applied steps, and fails for pending or unknown ones.
func (v *verifier) steps(status migrate.StatusResult) {
	applied, good := 0, status.Newer == nil
	// Tables without a recorded step block the steps.
	unnoted := slices.ContainsFunc(status.Findings, func(f migrate.Finding) bool { return f.Part == migrate.PartSteps })
	for _, step := range status.Steps {
		switch {
		case step.Unknown:
		case step.AppliedAt.IsZero() && unnoted:
		case step.AppliedAt.IsZero():
			v.fail("steps", fmt.Sprintf("step %d, %s, is pending", step.Version, step.Name)).Repair = v.app.commandLine("migrate", "up")
			good = false
		default:
			applied++
		}
	}
	v.installed = applied > 0
	if status.Newer != nil {
		v.fail("steps", status.Newer.Error())
	}
	if good && !unnoted {
		v.ok("steps", table.Count(applied, "step")+" applied")
	}
}

// findings adds a failure for each deviation from the steps.
func (v *verifier) findings(findings []migrate.Finding) {
	for _, finding := range v.app.grouped(findings) {
		failed := v.fail(string(finding.Part), finding.Name+" "+finding.Problem)
		failed.Repair = v.app.mending(finding)
		switch {
		case finding.NeedsOwner:
			failed.Text += "; " + plainOwner
			v.needsOwner = v.needsOwner || finding.Repairable
		case failed.Repair != "":
		case finding.Statement != "":
			failed.Statement = finding.Statement
		default:
			failed.Text += "; restore it from a backup"
		}
	}
}

// good describes a part that has no finding.
func (v *verifier) good(part migrate.Part, compared []migrate.Part) {
	name := string(part)
	switch {
	case !v.installed:
		v.note(name, notInstalled)
	case v.blind && (part == migrate.PartOwners || part == migrate.PartRights):
		v.note(name, mayNotRead)
	case !slices.Contains(compared, part):
		v.note(name, "not checked on "+v.product)
	default:
		v.ok(name, "as the steps have left them")
	}
}

func (v *verifier) contract(ctx context.Context) error {
	installed, err := v.session.Version(ctx)
	if errors.Is(err, applock.ErrSchema) {
		text := fmt.Sprintf("the procedures have contract %d, and %d is needed", installed, applock.ContractVersion)
		failed := v.fail("contract", text)
		failed.Repair = v.app.commandLine("migrate", "repair")
		if v.needsOwner {
			failed.Text += "; " + plainOwner
			failed.Repair = v.app.newOwner()
		}
		return nil
	}
	if err == nil {
		v.ok("contract", fmt.Sprintf("version %d, and %d is needed", installed, applock.ContractVersion))
	}
	return err
}

// The results of checks that cannot be made.
const (
	mayNotRead   = "not checked: this account may not read the database mysql"
	mayNotSee    = "not checked: this account may not see them; run verify as the account that migrates"
	notInstalled = "not checked: no step is known to be applied"
)

func (v *verifier) grants(context.Context) error {
	switch {
	case v.blind:
		v.note("grants", mayNotRead)
		return nil
	case v.missingErr != nil:
		return v.missingErr
	case !v.missing.Known:
		v.note("grants", "not checked on "+v.product)
		return nil
	}
	for _, missing := range v.missing.Missing {
		text := fmt.Sprintf("%s, as %s, may not call %s", missing.To, missing.Role, strings.Join(missing.Operations, ", "))
		v.fail("grants", text).Repair = v.app.commandLine("grant", "--to", secret.Quote(missing.To), "--as", missing.Role)
	}
	if len(v.missing.Missing) == 0 {
		v.ok("grants", "no account has only a part of a role's rights")
	}
	return nil
}

// surroundings reports what stands between this program and the tables: pooler, cluster, replica, clock.
func (v *verifier) surroundings(ctx context.Context) error {
	found, err := inspect.LookAround(ctx, clients.Driver(v.session.Client))
	if err != nil {
		return err
	}
	v.readOnly = found.ReadOnly != ""
	if v.readOnly {
		v.fail("primary", found.ReadOnly).Statement = found.EndReadOnly
	} else {
		v.ok("primary", "the server takes changes")
	}
	if found.Isolation != "" {
		v.note("isolation", found.Isolation)
	}
	if found.Loses != "" {
		v.note("durability", "a crash of the server may lose locks that were told: "+found.Loses)
	} else {
		v.ok("durability", "no setting of the server lets a crash lose locks that were told")
	}
	if found.Between != "" {
		v.note("between", found.Between)
	}
	if found.RoundTrip > 0 { // a file has neither
		if found.Between == "" {
			v.ok("between", "neither a pooler nor a cluster")
		}
		v.note("clock", clockWords(found.Ahead, found.RoundTrip))
	}
	return nil
}

// clockWords states how far the server's clock is off this host's, as exactly as the round trip allows.
func clockWords(ahead, roundTrip time.Duration) string {
	within := (roundTrip / 2).Round(time.Microsecond)
	if ahead.Abs() <= within {
		return fmt.Sprintf("the server's clock agrees with this host's, within %s", within)
	}
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	return fmt.Sprintf("the server's clock is %s %s this host's, give or take %s; no lock depends on that",
		ahead.Abs().Round(time.Microsecond), side, within)
}

func (v *verifier) purge(ctx context.Context) error {
	found, err := inspect.LookForStale(ctx, clients.Driver(v.session.Client), v.stale)
	if err != nil {
		return err
	}
	text, err := staleWords(found, v.stale)
	if err == nil {
		v.ok("purge", text)
		return nil
	}
	limit := duration(v.stale)
	v.fail("purge", text).Repair = v.app.commandLine("purge", "--older-than", limit.String())
	return nil
}

// staleWords describes the rows that a purge should have removed; with any, it also returns errNo.
func staleWords(found inspect.StaleLocks, stale time.Duration) (string, error) {
	limit, longest := duration(stale), duration(found.Longest)
	looked := table.Count(int(found.Looked), "row")
	if found.Rows == 0 {
		return fmt.Sprintf("none of %s looked at has been free for longer than %s", looked, limit.String()), nil
	}
	return fmt.Sprintf("%d of %s looked at should have been purged: free for longer than %s, the oldest for %s",
		found.Rows, looked, limit.String(), longest.String()), errNo
}

// rehearsedCall bounds a call of the round if --timeout does not.
const rehearsedCall = 10 * time.Second

// round plays Rehearse's steps on the database itself.
func (v *verifier) round(ctx context.Context) error {
	switch {
	case v.looksOnly:
		v.note("round", "not played: --look-only")
		return nil
	case v.readOnly:
		v.note("round", "not played: the server takes no changes")
		return nil
	case v.incomplete:
		v.note("round", "not played: first mend what is missing")
		return nil
	}
	v.session.pause() // each call in the round has its own limit
	result, err := inspect.Rehearse(ctx, v.session.Client, cmp.Or(time.Duration(v.app.timeout), rehearsedCall))
	if err != nil {
		return err
	}
	if result.Failure != "" {
		v.fail("round", result.Failure)
	} else {
		v.ok("round", table.Count(result.Played, "step")+" played, with the answers that they should have")
	}
	if result.Left {
		v.note("round", "the rows of types "+result.TypePrefix+"... are left to the purge: this account may not delete them")
	}
	return nil
}
