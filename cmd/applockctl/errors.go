package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/cmd/applockctl/internal/watch"
	"github.com/applock/applock/cmd/internal/secret"
)

// The exit codes, which scripts rely on.
const (
	exitYes         = 0
	exitNo          = 1
	exitUsage       = 2
	exitUnknown     = 3
	exitError       = 4
	exitLost        = 5
	exitConflict    = 75
	exitInterrupted = 130
)

// errInterrupted means that a signal ended the command.
var errInterrupted = errors.New("interrupted")

// errNo is the answer no. The result is printed already, so finish prints no error.
var errNo = errors.New("no")

// bodyError is an error from running a command, after cobra has accepted the command line.
type bodyError struct {
	err error
	// changes is true if the command changes something, unless it says otherwise.
	changes bool
}

func (e *bodyError) Error() string { return e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

type writeError struct {
	err     error
	results string
	// noEffect is true if they say that nothing was changed.
	noEffect bool
}

func (e *writeError) Error() string { return "print the result: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// withoutEffect marks the error of printing the answer no.
func withoutEffect(err error) error {
	if unprinted, is := errors.AsType[*writeError](err); is {
		unprinted.noEffect = true
	}
	return err
}

// withUnprinted adds to an error that the results before it could not be printed.
func withUnprinted(err, unprinted error) error {
	if _, isUnprinted := errors.AsType[*writeError](err); isUnprinted || unprinted == nil {
		return err
	}
	return fmt.Errorf("%w; %w", err, unprinted)
}

// lost returns the result of a call that has had its effect and could not be printed; nil if there is none.
func (e *bodyError) lost() *writeError {
	unprinted, is := errors.AsType[*writeError](e.err)
	if !is || !e.changes || unprinted.noEffect {
		return nil
	}
	return unprinted
}

// finish prints an error in one line and returns the exit code.
func (a *app) finish(command *cobra.Command, err error) int {
	code := exitCode(err)
	var ended *endedError
	if err == nil || errors.Is(err, errNo) || errors.As(err, &ended) || code != exitUnknown && readerIsGone(err) {
		return code
	}
	text := withVariable(inFlags(err))
	known, isBody := errors.AsType[*bodyError](err)
	if _, name, found := strings.Cut(command.CommandPath(), " "); found && !isBody {
		text = name + ": " + text // errors of a body begin with the operation already
	}
	if isBody && known.lost() != nil {
		text = strings.TrimSuffix(text+"; the call has had its effect: "+known.lost().results, ": ")
	}
	a.complain("%s: %s", program, oneLine(secret.Redact(text)))
	if unknown, is := errors.AsType[*unknownCommandError](err); is && len(unknown.similar) > 0 {
		a.complain("Did you mean this? %s", strings.Join(unknown.similar, ", "))
	}
	if code == exitUsage {
		a.complain("Run '%s --help' for usage.", command.CommandPath())
	}
	return code
}

// withVariable adds to cobra's error about a missing flag the environment variable that can replace it. Cobra's error has no type.
func withVariable(text string) string {
	if group := regexp.MustCompile(`^if any flags in the group \[(.+)\] (?:are set they must all be set; missing|are set none of the others can be;) \[(.+)\]`).FindStringSubmatch(text); group != nil {
		together := "--" + strings.Join(strings.Fields(group[1]), ", --")
		if strings.Contains(text, "must all be set") {
			return together + " go together: --" + strings.Join(strings.Fields(group[2]), ", --") + " is missing"
		}
		return together + " exclude each other: leave all but one out"
	}
	names, isMissing := strings.CutPrefix(text, "required flag(s) ")
	if !isMissing {
		return text
	}
	missing := strings.NewReplacer(` "`, " --", `"`, "", " not set", " must be given").Replace(" " + names)[1:]
	if strings.Contains(names, `"operator"`) || strings.Contains(names, `"by"`) {
		missing += "; $" + operatorVariable + " may say who you are"
	}
	return missing
}

// inFlags returns the text of an error, with flags in place of the names of Go's arguments.
func inFlags(err error) string {
	text := err.Error()
	invalid, is := errors.AsType[*applock.InvalidError](err)
	if !is {
		return text
	}
	flag := map[string]string{
		"Object": "OBJECT", "Object.Type": "the type of OBJECT", "Object.ID": "the id of OBJECT", "Type": "TYPE", "ObjectType": "--type", "Prefix": "--prefix",
		"Operator": "--operator", "Owner.Operator": "--operator", "Department": "--department", "Owner.Department": "--department", "NoDepartment": "--no-department",
		"From": "--from", "To": "--to", "To.Operator": "--to", "To.Department": "--to-department", "Asker": "--asker", "Actor": "--by",
		"Message": "--message", "Note": "TEXT", "Reason": "--reason", "Client": "--client",
		"Fence": "--fence", "ExpectedFence": "--fence", "Permits": "--permits", "New": "--new", "Batch": "--batch",
		"TTL": "--ttl", "DefaultTTL": "--default-ttl", "LongestTTL": "--longest-ttl", "MaxHold": "--max-hold", "Wait": "--wait", "MaxWait": "--wait",
		"Since": "--since", "After": "--after", "OlderThan": "--older-than", "ExpiresWithin": "--expires-within", "YieldAfter": "--yield-after",
		"HistoryLevel": "--history", "Role": "--as", "Owner": "--owner", "Table": "--table", "IDColumn": "--id-column",
		"dsn": "the DSN", "client": "the DSN", "Schema": "--schema", "Dialect": "--dialect", "Platform": "--platform", "Version": "VERSION",
	}[invalid.Argument]
	if flag == "" {
		return text
	}
	return strings.Replace(text, invalid.Error(), flag+" "+invalid.Reason, 1)
}

func exitCode(err error) int {
	var known *bodyError
	var ended *endedError
	switch {
	case err == nil:
		return exitYes
	case !errors.As(err, &known):
		return exitUsage
	case errors.As(err, &ended):
		return ended.code
	case known.lost() != nil:
		return exitUnknown
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, applock.ErrInvalid):
		return exitUsage
	case errors.Is(err, errInterrupted), errors.Is(err, watch.ErrInterrupted):
		return exitInterrupted
	case errors.Is(err, applock.ErrOutcomeUnknown):
		return exitUnknown
	default:
		return exitError
	}
}

// readerIsGone reports whether the reader of stdout has closed it, as head does.
func readerIsGone(err error) bool {
	failed, is := errors.AsType[*writeError](err)
	return is && errors.Is(failed, syscall.EPIPE)
}

// note writes a line that is neither a result nor an error. --quiet suppresses it.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.complain(format, args...)
	}
}

// complain writes a line about an error or a problem. Its own write error is dropped, since stderr was the last place for it.
func (a *app) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// oneLine joins the lines of a text and escapes control characters, which a terminal would obey.
func oneLine(text string) string {
	flat := regexp.MustCompile(`\s*[\r\n\t\v\f]+\s*`).ReplaceAllString(strings.TrimSpace(text), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, flat)
}

// explain adds what the façade cannot know: the command that installs the schema, and the reason why ctx ended.
func (a *app) explain(ctx context.Context, operation string, s session, err error) error {
	var unprinted *writeError
	var late *timeoutError
	var ended *endedError
	reason := context.Cause(ctx)
	if reason != nil && !errors.As(reason, &late) {
		reason = errInterrupted
	}
	if reason == nil && errors.Is(err, applock.ErrUnreachable) && errors.Is(err, context.DeadlineExceeded) {
		reason = &timeoutError{length: a.timeout} // the connection timed out; no extension covers connecting
	}
	switch {
	case err == nil, errors.Is(err, errNo), errors.Is(err, applock.ErrInvalid), errors.As(err, &ended):
		return err
	case errors.As(err, &unprinted):
		return fmt.Errorf("%s: %w", operation, err)
	case errors.Is(err, applock.ErrSchema):
		return a.explainSchema(ctx, operation, s, err)
	case errors.Is(err, applock.ErrPrivilege) && reason == nil:
		return a.explainPrivilege(ctx, operation, s, err)
	case errors.Is(err, applock.ErrBusy) && late != nil:
		return fmt.Errorf("%w: %w", err, reason)
	case errors.Is(err, applock.ErrUnreachable) && reason == nil:
		return explainFile(operation, s.dsn, err)
	case reason == nil:
		return err
	case errors.Is(err, applock.ErrOutcomeUnknown):
		return fmt.Errorf("%s: %w: %w", operation, applock.ErrOutcomeUnknown, reason)
	default:
		return fmt.Errorf("%s: %w", operation, reason)
	}
}

// explainSchema returns the error for a database whose schema is missing, old or damaged.
func (a *app) explainSchema(ctx context.Context, operation string, s session, err error) error {
	install := a.commandLine("migrate", "up")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no file %s; create it with: %s", operation, pathOf(s.dsn), install)
	}
	where := a.place(s.dsn)
	// Version fails here as well, but may return a version with its error.
	if installed, _ := s.Version(ctx); installed > 0 && installed < applock.ContractVersion {
		return fmt.Errorf("%s: applock in %s has contract %d, and %d is needed; update it with: %s",
			operation, where, installed, applock.ContractVersion, install)
	}
	// An account without the right to read the status gets the general error below.
	status, err := migrate.Status(ctx, s.Client)
	if i := slices.IndexFunc(status.Findings, damages); err == nil && i >= 0 {
		finding := status.Findings[i]
		return fmt.Errorf("%s: applock in %s is damaged: %s %s; see all with: %s, and %s",
			operation, where, finding.Name, finding.Problem, a.commandLine("migrate", "status"), a.wayOut(finding))
	}
	if errors.Is(err, applock.ErrPrivilege) {
		return fmt.Errorf("%s: applock in %s is missing or damaged, and this account may not see which; the account that migrates does, with: %s",
			operation, where, a.commandLine("migrate", "status"))
	}
	// The hint at another schema is optional, so an error of the search is dropped.
	if schemas, _ := migrate.Schemas(ctx, s.Client); len(schemas) > 0 {
		return fmt.Errorf("%s: applock is not installed in %s, but in schema %s: add --schema with that name, or install it here with: %s",
			operation, where, strings.Join(schemas, ", "), install)
	}
	return fmt.Errorf("%s: applock is not installed in %s; create it with: %s", operation, where, install)
}

// place names the schema or file which has the table and the procedures.
func (a *app) place(dsn string) string {
	if a.schema != "" {
		return "schema " + a.schema
	}
	if dialect, err := open.DialectOf(dsn); err == nil && dialect.DefaultSchema != "" {
		return "schema " + dialect.DefaultSchema
	}
	return "the database of the DSN"
}

// explainFile explains why a file cannot be opened. Errors of servers stay as they are.
func explainFile(operation, dsn string, err error) error {
	if dialect, dialectErr := open.DialectOf(dsn); dialectErr != nil || !dialect.Embedded {
		return err
	}
	return fmt.Errorf("%s: cannot open %s, check that its directory exists and that you may write there: %w",
		operation, pathOf(dsn), err)
}

// commandLine returns a command for the same database, complete but for the password.
func (a *app) commandLine(args ...string) string {
	words := []string{program}
	if a.dsnFlag != nil && a.dsnFlag.Changed {
		words = append(words, "--dsn", secret.Quote(redactDSN(a.dsn)))
	}
	if a.schema != "" {
		words = append(words, "--schema", secret.Quote(a.schema))
	}
	return strings.Join(append(words, args...), " ")
}
