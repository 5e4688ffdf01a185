package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
)

const (
	program        = "applockctl"
	defaultTimeout = 10 * time.Second
)

// app is one run of the program: its environment and its global flags.
type app struct {
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	// help is stdout for what cobra prints.
	help *watchedWriter
	// misnamed is the error of a command that does not exist and whose help was asked for.
	misnamed error
	// terminal is true if stderr is a terminal.
	terminal bool

	dsn     string
	dsnFlag *pflag.Flag
	schema  string
	timeout duration
	// counted is told of each call of a client; nil for nobody.
	counted *slog.Logger

	output format
	// wide and utc change tables; quiet prints only what needs attention.
	wide, utc, quiet bool
	// width is the number of cells in a line of stdout, zero for no limit.
	width int
}

// run is the program: it runs the command that args name and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{stdout: stdout, stderr: stderr, getenv: getenv, terminal: isTerminal(stderr), width: widthOf(stdout, getenv)}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()                   //nolint:contextcheck // each command gets it from cobra, below
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would read the process' own arguments
	command, err := root.ExecuteContextC(ctx)
	if err == nil && a.misnamed != nil {
		err = a.misnamed
	}
	if a.help.err != nil {
		err = &bodyError{err: wrapWrite(a.help.err)}
	}
	return a.finish(command, err)
}

const longHelp = `applockctl shows who works on what, since when and until when. It gets, releases, transfers, takes and lists
application locks that a database keeps. It also installs the tables and procedures, and purges old rows.

An object is written TYPE:ID, such as customer:42. Durations are written 7d, 36h, 90s or 1d12h.

--dsn names the database. Without --dsn the environment variable APPLOCK_DSN does, or else the first line of
the file that APPLOCK_DSN_FILE names. There is no default, but the demo needs no database:
  sqlite:PATH                                  a file, which "migrate up" creates
  postgres://USER:PASSWORD@HOST:PORT/DATABASE  PostgreSQL
  mysql://USER:PASSWORD@HOST:PORT/DATABASE     MySQL or MariaDB; or USER:PASSWORD@tcp(HOST:PORT)/DATABASE
  db2://USER:PASSWORD@HOST:PORT/DATABASE       Db2, in a program built by "make build-db2"
Run "applockctl migrate up" first. Other users of the host can see command lines: keep a password in
APPLOCK_DSN, or in the file that APPLOCK_DSN_FILE names, and let nobody else read that file. PostgreSQL's
~/.pgpass and PGPASSFILE work too; the files of MySQL's client do not. TLS with a CA file:
  postgres://...?sslmode=verify-full&sslrootcert=/PATH/ca.pem  mysql://...?tls=true&ssl-ca=/PATH/ca.pem

APPLOCK_OPERATOR and APPLOCK_DEPARTMENT are the defaults of --operator and --department.

On PostgreSQL and Db2 the tables and procedures are in the schema applock, or in that of --schema. On MySQL
and MariaDB they are in the database of the DSN, or in that of --schema.

Results go to stdout, everything else to stderr. A table shows times in this host's time zone and fits the
terminal; --utc and --wide change that. JSON always has everything, in UTC. --quiet is for cron: success
prints nothing, while refusals, errors and lists are still printed. "run" exits with the code of its
command. Exit codes:
  0  yes
  1  no: somebody else holds the object, or nobody does
  2  the command line is wrong
  3  the outcome is unknown: no answer came back; or the answer could not be printed: stderr tells it
  4  any other error
  5  "run": the command was ended, because --max-hold was over or the lock was lost
  75  somebody else holds the object of "run"
  130  interrupted, for example by Ctrl-C`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "Application locks in your database",
		Long:  longHelp,
		Example: `  applockctl demo
  export APPLOCK_DSN=sqlite:applock.db
  applockctl migrate up
  applockctl get customer:42 --operator jdoe --department sales
  applockctl inquire customer:42
  applockctl release customer:42 --operator jdoe`,
		Version:       programVersion(debug.ReadBuildInfo()).words(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// A command with subcommands is not runnable itself: see finishTree.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if not .HasAvailableSubCommands}}", 1))
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version and the revision") // cobra's own flag would have a shorthand
	a.help = &watchedWriter{Writer: a.stdout}
	root.SetOut(a.help)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		if command.HasSubCommands() {
			a.misnamed = noSuchCommand(command, command.Flags().Args())
		}
		if a.misnamed == nil {
			printHelp(command, args)
		}
	})
	a.addGlobalFlags(root)
	a.addCommands(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	finishTree(root)
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err == nil && found.HasSubCommands() {
				err = noSuchCommand(found, rest)
			}
			return err
		}
	}
	return root
}

// addCommands adds the commands in groups, the shortest group first in the help.
func (a *app) addCommands(root *cobra.Command) {
	addGroup(root, "Run:",
		a.runCommand(),
	)
	addGroup(root, "Locks:",
		a.getCommand(),
		a.renewCommand(),
		a.assertCommand(),
		a.releaseCommand(),
		a.inquireCommand(),
		a.noteCommand(),
		a.seeCommand(),
		a.askApplLockCommand(),
		a.answerApplLockCommand(),
		a.askingCommand(),
	)
	addGroup(root, "Supervise:",
		a.transferCommand(),
		a.takeCommand(),
		a.listCommand(),
		a.statsCommand(),
		a.historyCommand(),
		a.inboxCommand(),
		a.viewersCommand(),
		a.policyCommand(),
		a.watchCommand(),
		a.consoleCommand(),
	)
	addGroup(root, "Database:",
		a.purgeCommand(),
		a.purgeHistoryCommand(),
		a.migrateCommand(),
		a.verifyCommand(),
		a.grantCommand(),
		a.revokeCommand(),
		a.guardCommand(),
		a.demoCommand(),
		a.pingCommand(),
		a.versionCommand(),
	)
}

func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		command.GroupID = title
		root.AddCommand(command)
	}
}

func (a *app) addGlobalFlags(root *cobra.Command) {
	a.timeout = duration(defaultTimeout)
	flags := root.PersistentFlags()
	flags.StringVar(&a.dsn, "dsn", "", "the database; default $"+dsnVariable+", else the one in the file $"+dsnFileVariable)
	flags.StringVar(&a.schema, "schema", "", "the schema (on MySQL the database) of the table and the procedures")
	flags.Var(&a.timeout, "timeout", "how long connecting and one call to the database may take")
	a.dsnFlag = flags.Lookup("dsn")
	a.addOutputFlags(root)
}

// flagError explains a flag that was written with one dash. Pflag would repeat the whole word, and with it a DSN. An unknown command is
// reported first, since its flags are unknown as well.
func flagError(command *cobra.Command, err error) error {
	if command.HasSubCommands() {
		if unknown := noSuchCommand(command, command.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is && unknown.GetSpecifiedShortnames() != "" {
		name := unknown.GetSpecifiedShortnames()
		if end := strings.IndexAny(name, "=:"); end >= 0 {
			name = name[:end]
		}
		return fmt.Errorf("unknown flag: -%s, flags are written with two dashes", name)
	}
	return err
}

// finishTree sets on all commands what cobra has no global setting for.
func finishTree(command *cobra.Command) {
	withoutFiles := func(flag *pflag.Flag) {
		if _, found := command.GetFlagCompletionFunc(flag.Name); !found {
			complete(command, flag.Name)
		}
	}
	command.Flags().VisitAll(withoutFiles)
	command.PersistentFlags().VisitAll(withoutFiles)
	command.DisableFlagsInUseLine = true
	if command.Args == nil {
		command.Args = noArguments
	}
	if command.ValidArgsFunction == nil {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range command.Commands() {
		finishTree(child)
	}
	if !command.Runnable() {
		// Cobra would print the help and exit with 0, which a script that lost the subcommand would read as yes.
		command.Args = noSuchCommand
		command.RunE = func(*cobra.Command, []string) error { return errors.New("a command is missing") }
	}
}

// complete makes the shell offer these values for a flag, and no file names.
func complete(command *cobra.Command, flag string, values ...string) {
	// It fails for an unknown flag or a second call, both mistakes in the calling line.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func require(command *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = command.MarkFlagRequired(flag) // fails only for an unknown flag, a mistake in the calling line
	}
}

const (
	operatorVariable   = "APPLOCK_OPERATOR"
	departmentVariable = "APPLOCK_DEPARTMENT"
)

// operatorFlag adds the mandatory flag --operator, which an environment variable can replace. The shell offers names by completions, if any.
func (a *app) operatorFlag(command *cobra.Command, operator *string, usage string, completions cobra.CompletionFunc) {
	fromEnvironment := a.getenv(operatorVariable)
	command.Flags().StringVar(operator, "operator", fromEnvironment, usage+"; default $"+operatorVariable)
	if fromEnvironment == "" {
		require(command, "operator")
	}
	if completions != nil {
		offers(command, "operator", completions)
	}
}

// departmentFlag adds --department for the operator's own department.
func (a *app) departmentFlag(command *cobra.Command, department *string, usage string) {
	command.Flags().StringVar(department, "department", a.getenv(departmentVariable), usage)
}

// The usual text of --department.
const departmentUsage = "where the operator works; default $" + departmentVariable

func fenceFlag(command *cobra.Command, fence *applock.Fence, usage string) {
	command.Flags().Var(number[applock.Fence]{fence, math.MaxInt64}, "fence", usage)
}

func limitFlag(command *cobra.Command, limit *int64) {
	command.Flags().Var(number[int64]{limit, math.MaxInt64}, "limit", "print at most this many")
}

type unknownCommandError struct {
	word, parent string
	// similar are known commands with a similar name.
	similar []string
}

func (e *unknownCommandError) Error() string {
	return fmt.Sprintf("unknown command %q for %q", e.word, e.parent)
}

// noSuchCommand refuses a word that names no subcommand.
func noSuchCommand(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	command.SuggestionsMinimumDistance = 2
	similar := command.SuggestionsFor(args[0])
	if command.Name() == "completion" { // its commands are shells: all are of interest
		similar = nil
		for _, child := range command.Commands() {
			similar = append(similar, child.Name())
		}
	}
	return &unknownCommandError{word: args[0], parent: command.CommandPath(), similar: similar}
}

func oneObject(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errNoObject
	}
	return noArguments(command, args[1:])
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

// body adapts run to cobra. It wraps the error of run in a bodyError, because all other errors of cobra are mistakes in the command line.
func body(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := run(command.Context(), args); err != nil {
			return &bodyError{err: err, changes: changes(command)}
		}
		return nil
	}
}

// changes reports whether a call of a command can change something. A new command does, until it is listed here.
func changes(command *cobra.Command) bool {
	for _, looks := range []string{"dry-run", "print"} {
		if flag := command.Flags().Lookup(looks); flag != nil && flag.Value.String() == "true" {
			return false
		}
	}
	return !slices.Contains([]string{
		"assert", "inquire", "asking", "list", "stats", "history", "viewers", "policy list", "watch", "console",
		"migrate status", "migrate print", "verify", "guard print", "demo", "ping", "version",
	}, strings.TrimPrefix(command.CommandPath(), program+" "))
}

// session is a client whose calls have a time limit.
type session struct {
	*applock.Client
	*callLimit
	dsn string
}

// call runs an operation on the database. Errors begin with the operation's name.
func (a *app) call(ctx context.Context, operation string, run func(context.Context, session) error) error {
	dsn, err := a.database()
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if dsn == "sqlite::memory:" {
		const reason = "is a database in memory, which ends with this command: name a file, such as sqlite:applock.db"
		return fmt.Errorf("%s: %w", operation, &applock.InvalidError{Argument: "dsn", Reason: reason})
	}
	client, err := open.ByDSN(ctx, dsn, open.Config{Schema: a.schema, ConnectTimeout: time.Duration(a.timeout), Logger: a.counted})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	limited, limit := limitCalls(ctx, time.Duration(a.timeout))
	defer limit.end()
	s := session{Client: client, callLimit: limit, dsn: dsn}
	err = a.explain(limited, operation, s, run(limited, s))
	closeClient(limited, client)
	return err
}

// calls makes a command of a call without arguments.
func (a *app) calls(operation string, run func(context.Context, session) error) func(*cobra.Command, []string) error {
	return body(func(ctx context.Context, _ []string) error { return a.call(ctx, operation, run) })
}

// closeClient closes the client. After a cancelled call it waits only a second, since the connection may hang.
func closeClient(limited context.Context, client *applock.Client) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = client.Close() // the answers are complete already
	}()
	var giveUp <-chan time.Time
	if limited.Err() != nil {
		giveUp = time.After(time.Second)
	}
	select {
	case <-closed:
	case <-giveUp:
	}
}

// trim removes the blanks that the database removes, for answers which repeat an argument.
func trim(argument string) string {
	return strings.TrimRight(argument, " ")
}
