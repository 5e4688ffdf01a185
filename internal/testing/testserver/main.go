//go:build unix

// Command testserver supplies the database servers that the test suite needs, runs a command with environment
// variables that point at them, stops what it started and exits with the command's exit code:
//
//	go run ./internal/testing/testserver [--require postgres,pgbouncer,mariadb,galera,mysql,redis,hsqldb,sqlite3,tmux] -- go test ./...
//
// --only lists the products to start; without it, all are. --compile is a shell's command that compiles meanwhile.
//
// For each product it takes the first of: a server named by APPLOCK_TEST_<PRODUCT>_DSN (never started, never stopped),
// server binaries of this machine (a private server in a temporary directory), those of Debian, docker compose. Debian's
// PostgreSQL, MariaDB and Galera are installed. Its PgBouncer and Redis, whose packages would start services, and its
// MySQL, which only the unstable suite has, are unpacked into the directory that APPLOCK_TEST_CACHE names, or the user's
// own for such things, and stay there: delete them to get newer ones.
// APPLOCK_TEST_POSTGRES_VERSION, APPLOCK_TEST_MARIADB_VERSION and APPLOCK_TEST_MYSQL_VERSION ask for one of the versions in versions.go, which
// are kept in the same directory.
// A PgBouncer stands in front of the PostgreSQL of the same run. Galera is a cluster of two nodes of MariaDB.
// HSQLDB, on which the Db2 procedures run, is a library: APPLOCK_TEST_HSQLDB_JAR names it, or it is Debian's.
// Servers and tests keep their files in memory, in /dev/shm, where that has room and TMPDIR names no other place.
// A product that none of them supplies is left out, with the reason, unless --require or APPLOCK_TEST_REQUIRE names it.
//
// Two things to know. "go run" turns every exit code but 0 into 1: build the program to see the command's own code. And
// the command leads a process group in the background, so it cannot read the terminal: it sees an empty input instead.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// requireVariable lists, separated by commas, the products whose absence is an error. The tests read it too.
const requireVariable = "APPLOCK_TEST_REQUIRE"

func main() {
	say := newSay(os.Stderr)
	if err := useMemory(); err != nil {
		say("temporary files are on the disk: %v", err)
	}
	os.Exit(launch(os.Args[1:], say))
}

// launch runs what the command line says and returns the exit code.
func launch(args []string, say func(format string, args ...any)) int {
	m := &machine{say: say}
	all := backends(m)
	names := []string{"sqlite"} // part of the program and always there
	for _, b := range all {
		names = append(names, b.name)
	}
	o, err := parseOptions(args, os.Getenv(requireVariable), names)
	if err != nil {
		say("%v", err)
		return exitUsage
	}
	m.backends = slices.DeleteFunc(all, func(b *backend) bool { return !o.starts(b, all) })
	signals := make(chan os.Signal, 8)
	// Signals that the parent process ignores stay ignored: nohup ignores the hang-up, and a script's "&" the interrupt.
	signal.Notify(signals, slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)...)
	l := launcher{
		backends: m.backends,
		require:  o.require,
		compiler: compiler{command: o.compile},
		say:      say,
		progress: newProgress(os.Stderr),
		signals:  signals,
		stdin:    commandInput(os.Stdin),
		stdout:   os.Stdout,
		stderr:   os.Stderr,
	}
	return l.run(o.command)
}

// commandInput is the launcher's own input as the command's, unless it is a terminal. The kernel stops a background process group that
// reads the terminal, and a stopped command would hang the run.
func commandInput(stdin *os.File) io.Reader {
	if isTerminal(stdin) {
		return nil
	}
	return stdin
}

// isTerminal reports whether a file may be a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

// options are the command line, with the environment's requirements added to it.
type options struct {
	require []string
	only    []string // the products to start; empty means all
	compile string
	command []string
}

// starts reports whether a backend is to be started, for itself or for another one that needs it.
func (o options) starts(b *backend, all []*backend) bool {
	return len(o.only) == 0 || slices.Contains(o.only, b.name) || slices.ContainsFunc(all, func(other *backend) bool {
		return other.needs == b && slices.Contains(o.only, other.name)
	})
}

// parseOptions reads the command line. known are the products that --require accepts: a misspelt one must be an error, not a requirement
// that is silently met. The environment may also name products that only the tests know.
func parseOptions(args []string, environment string, known []string) (options, error) {
	o := options{require: splitList(environment)}
	flags := flag.NewFlagSet("testserver", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	products := func(list *[]string) func(string) error {
		return func(names string) error {
			for _, name := range splitList(names) {
				if !slices.Contains(known, name) {
					return fmt.Errorf("unknown product %q, use one of %s", name, strings.Join(known, ", "))
				}
				if !slices.Contains(*list, name) {
					*list = append(*list, name)
				}
			}
			return nil
		}
	}
	flags.Func("require", "products that must be there, separated by commas", products(&o.require))
	flags.Func("only", "products to start, separated by commas", products(&o.only))
	flags.StringVar(&o.compile, "compile", "", "a shell's command that compiles while the products start")
	usage := "usage: testserver [--require PRODUCT,...] [--only PRODUCT,...] [--compile COMMAND] -- COMMAND [ARG]; products are " + strings.Join(known, ", ")
	if err := flags.Parse(args); err != nil {
		return options{}, fmt.Errorf("%w; %s", err, usage)
	}
	o.command = flags.Args()
	if len(o.command) == 0 {
		return options{}, errors.New(usage)
	}
	return o, nil
}

// newSay returns the function that prints the launcher's lines on w. It is safe for concurrent use.
func newSay(w io.Writer) func(format string, args ...any) {
	begin := "testserver: "
	if isTerminal(w) {
		begin = clearLine + begin
	}
	var speaking sync.Mutex
	return func(format string, args ...any) {
		speaking.Lock()
		defer speaking.Unlock()
		fmt.Fprintf(w, begin+format+"\n", args...)
	}
}

// splitList splits "a, b" into its names.
func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
