package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/cmd/internal/probes"
	"github.com/applock/applock/cmd/internal/secret"
)

// The exit codes are those of applockctl.
const (
	exitYes   = 0
	exitUsage = 2
	exitError = 4
)

// surroundings are the process' environment, streams and signals.
type surroundings struct {
	stdin          io.ReadCloser
	stdout, stderr io.Writer
	getenv         func(string) string
}

type flags struct {
	dsn, schema          string
	operator, department string
	ttl, longestTTL      time.Duration
	timeout              time.Duration
	mayTake              bool
	releaseAtEnd         bool
	repository           string
	web                  webFlags
}

const longHelp = `Serves application locks to agents, by the Model Context Protocol, so that agents and people do not change the
same file, ticket or case at the same time. The locks are in a database, where "applockctl migrate up" has
installed applock, and people see them in the console. Each agent needs an operator name of its own: two
agents of one name share their locks, and nothing keeps them apart.

Without --listen it speaks on stdin and stdout, for the client that has started it, as the operator of
--operator. With --listen it serves streamable HTTP without sessions at the path /mcp, and the operator is
the person who has signed in. A proxy names the person in a header, or a file has a line NAME:PASSWORD for
each person (both as in "applockctl console"), or each request has a bearer token of an OpenID Connect
issuer for the audience of --oidc-client. It does not encrypt: put a proxy with TLS in front of it. No tool
has an argument for the operator.

The database is named by --dsn, else by the environment variable APPLOCK_DSN, else by the first line of the
file that APPLOCK_DSN_FILE names. The database user needs the role operator, and supervisor for --may-take.
With --listen, --role NAME=FILE gives the agents of a role the rights of another database user, as in
"applockctl console". While the database cannot be reached, no tool gets a lock, and each says so: this
server keeps no locks of its own.

Answers of the protocol go to stdout, everything else to stderr.`

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, around surroundings) int {
	command := newCommand(around)                //nolint:contextcheck // cobra passes the context to RunE
	command.SetArgs(append([]string{}, args...)) // never nil: cobra would read the process' own arguments
	err := command.ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil {
		return exitYes
	}
	_, _ = fmt.Fprintf(around.stderr, "applock-mcp: %s\n", secret.Redact(strings.ReplaceAll(err.Error(), "\n", " ")))
	if _, started := errors.AsType[*startedError](err); started && !errors.Is(err, applock.ErrInvalid) {
		return exitError
	}
	_, _ = fmt.Fprintln(around.stderr, "Run 'applock-mcp --help' for usage.")
	return exitUsage
}

// startedError is an error from running the command, after cobra has accepted the command line.
type startedError struct{ err error }

func (e *startedError) Error() string { return e.err.Error() }
func (e *startedError) Unwrap() error { return e.err }

func newCommand(around surroundings) *cobra.Command {
	var f flags
	// No template of cobra's is set: text/template, which then runs, keeps every exported method of every type in the program.
	command := &cobra.Command{
		Use:   "applock-mcp --operator O | --listen HOST:PORT",
		Short: "Application locks for agents, by the Model Context Protocol",
		Long:  longHelp,
		Example: `  applock-mcp --dsn sqlite:applock.db --operator agent-1
  APPLOCK_DSN_FILE=/etc/applock/agents.dsn applock-mcp --operator agent-1 --ttl 5m
  applock-mcp --listen 127.0.0.1:8430 --user-header X-User --proxy 127.0.0.1/32
  applock-mcp --listen 10.1.0.5:8430 --oidc-issuer https://id.example.com/ --oidc-client applock \
    --address https://locks.example.com/mcp`,
		Version:               version(),
		Args:                  cobra.NoArgs,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("dsn") {
				var err error
				if f.dsn, err = secret.DSNOfEnvironment(around.getenv); err != nil {
					return &startedError{err: err}
				}
			}
			if err := serve(command.Context(), f, around); err != nil {
				return &startedError{err: err}
			}
			return nil
		},
	}
	command.SetOut(around.stdout)
	command.SetErr(around.stderr)
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&f.operator, "operator", around.getenv("APPLOCK_OPERATOR"), "who the agent is, on stdio; without it $APPLOCK_OPERATOR")
	set.StringVar(&f.department, "department", around.getenv("APPLOCK_DEPARTMENT"), "where the operator works; without it $APPLOCK_DEPARTMENT")
	set.StringVar(&f.dsn, "dsn", "", "the database; without it $APPLOCK_DSN, else the one in the file $APPLOCK_DSN_FILE")
	set.StringVar(&f.schema, "schema", "", "the schema (on MySQL the database) of the table and the procedures")
	set.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long connecting and one call to the database may take")
	set.DurationVar(&f.ttl, "ttl", 10*time.Minute, "how long a lock lasts without a renewal, unless the call names a time")
	set.DurationVar(&f.longestTTL, "longest-ttl", 8*time.Hour, "the longest time that a call may name")
	set.BoolVar(&f.mayTake, "may-take", false, "offer lock_take, which takes a lock from its holder")
	set.StringVar(&f.repository, "repository", around.getenv("APPLOCK_REPOSITORY"),
		"what everybody calls the repository; all files are file:NAME/PATH then; without it $APPLOCK_REPOSITORY")
	set.BoolVar(&f.releaseAtEnd, "release-at-end", false, "release all locks of the operator when the client closes stdin, or on SIGTERM")
	f.web.register(set)
	command.MarkFlagsMutuallyExclusive("user-header", "passwords", "oidc-issuer")
	command.MarkFlagsRequiredTogether("user-header", "proxy")
	command.MarkFlagsRequiredTogether("oidc-issuer", "oidc-client", "address")
	command.MarkFlagsMutuallyExclusive("listen", "operator")
	command.MarkFlagsMutuallyExclusive("listen", "release-at-end")
	return command
}

func (f flags) check() error {
	switch {
	case f.dsn == "":
		return &applock.InvalidError{Argument: "the DSN", Reason: "is missing: write --dsn DSN, or set APPLOCK_DSN or APPLOCK_DSN_FILE"}
	case f.web.listen == "" && f.operator == "":
		return &applock.InvalidError{Argument: "--operator", Reason: "is missing: give each agent its own name, here or by $APPLOCK_OPERATOR"}
	case f.web.listen == "" && (f.web.signsIn() || len(f.web.Roles) > 0):
		return &applock.InvalidError{Argument: "--listen", Reason: "is missing: nobody signs in on stdio"}
	case f.ttl < time.Second || f.longestTTL < f.ttl || f.longestTTL > applock.MaxTTL:
		return &applock.InvalidError{Argument: "--ttl", Reason: "must be 1s or more, and --longest-ttl at least as long, up to 3650 days"}
	case f.timeout <= 0:
		return &applock.InvalidError{Argument: "--timeout", Reason: "must be more than 0s"}
	}
	return nil
}

// serve opens the database and serves until ctx ends, or until the client on stdio closes its end.
func serve(ctx context.Context, f flags, around surroundings) error {
	if err := f.check(); err != nil {
		return err
	}
	named, err := f.web.Named()
	if err != nil {
		return err
	}
	folder := ""
	if f.web.listen == "" {
		if folder, err = os.Getwd(); err != nil {
			return err
		}
	}
	spelled, err := filesOf(f.repository, folder)
	if err != nil {
		return err
	}
	logger := secret.Logger(around.stderr, slog.LevelInfo)
	watch := probes.New(logger)
	byDSN := func(dsn string) (*applock.Client, error) {
		return open.ByDSN(ctx, dsn, open.Config{Schema: f.schema, ConnectTimeout: f.timeout, Logger: watch.Calls()})
	}
	closing := func(client *applock.Client) { _ = client.Close() } // an error at the end has no consequence
	client, err := byDSN(f.dsn)
	if err != nil {
		return err
	}
	defer closing(client)
	ofRoles, err := named.Open(byDSN, closing)
	if err != nil {
		return err
	}
	for _, client := range ofRoles {
		defer closing(client)
	}
	l := locks{
		client: client, roles: named, ofRoles: ofRoles, owner: applock.Owner{Operator: f.operator, Department: f.department},
		ttl: f.ttl, longestTTL: f.longestTTL, timeout: f.timeout, mayTake: f.mayTake, files: spelled,
		logger: logger, watch: watch, version: version(),
	}
	if f.web.listen != "" {
		return serveWeb(ctx, f.web, l)
	}
	server, err := newServer(l)
	if err != nil {
		return err
	}
	err = server.Run(ctx, &mcp.IOTransport{Reader: around.stdin, Writer: keptOpen{around.stdout}})
	if f.releaseAtEnd {
		l.releaseAtEnd(context.WithoutCancel(ctx))
	}
	return err
}

// releaseAtEnd releases all locks of the operator. One that it cannot release lasts until its end.
func (l locks) releaseAtEnd(ctx context.Context) {
	if _, err := l.releaseEach(ctx); err != nil {
		l.logger.ErrorContext(ctx, "applock-mcp: locks may be left", slog.String("error", secret.Redact(err.Error())))
	}
}

// keptOpen ignores Close: stdout belongs to the process.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// version returns the module's version, as the toolchain has recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
