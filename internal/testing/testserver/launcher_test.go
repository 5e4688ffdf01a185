//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testLauncher is a launcher whose output is kept.
type testLauncher struct {
	launcher
	signals chan os.Signal
	stderr  bytes.Buffer
}

func newTestLauncher(backends ...*backend) *testLauncher {
	l := &testLauncher{signals: make(chan os.Signal, 8)}
	l.launcher = launcher{backends: backends, say: newSay(&l.stderr), progress: newProgress(&l.stderr), signals: l.signals, stderr: &l.stderr}
	return l
}

// wantRun checks the exit code of a command, and what the launcher and the command say, in this order.
func (l *testLauncher) wantRun(t *testing.T, command string, code int, says ...string) {
	t.Helper()
	if got := l.run([]string{"sh", "-c", command}); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	rest := l.stderr.String()
	for _, part := range says {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q is not in the output, or is said earlier:\n%s", part, l.stderr.String())
		}
		rest = after
	}
	if (code == 1 || code == 143) && strings.Contains(l.stderr.String(), "was run") {
		t.Error("the command was run")
	}
}

// present is a source with a server; failing is one with an error.
func present(s *server) source { return func(context.Context) (*server, error) { return s, nil } }

func failing(err error) source {
	return func(context.Context) (*server, error) { return nil, err }
}

func named(name string, sources ...source) *backend {
	return &backend{name: name, title: name, sources: sources}
}

// Goal: a failure of the command is a failure of the run. Method: commands that end in several ways.
func TestExitCodePassesThrough(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"true": 0, "exit 7": 7, "kill -KILL $$": 137} {
		newTestLauncher().wantRun(t, command, want)
	}
	for program, want := range map[string]int{"./applock-no-such-program": 127, "/": 126} {
		if got := newTestLauncher().run([]string{program}); got != want {
			t.Errorf("%s: exit code %d, want %d", program, got, want)
		}
	}
}

// Goal: the command knows servers and requirements, and a server that was started is stopped in the end, but not one that was given.
func TestCommandKnowsServers(t *testing.T) {
	t.Parallel()
	l := newTestLauncher(
		named("one", failing(absent("no binary")), present(&server{version: "1.5", origin: "private", env: []string{"APPLOCK_TESTSERVER_X=y"},
			stop: func() error { return errors.New("stuck") }})),
		named("two", failing(absent("none here"))),
		named("three", present(&server{version: "3", origin: "given by X"})))
	l.require = []string{"one"}
	l.wantRun(t, "echo it is $APPLOCK_TESTSERVER_X, $APPLOCK_TEST_REQUIRE: $APPLOCK_TEST_BACKENDS >&2; exit 3", 3, "running without two: none here",
		"it is y, one: sqlite (embedded); one 1.5 (private); two missing (none here); three 3 (given by X)", "one: stuck")
}

// Goal: the launcher says how far it is, and the command begins when the compiler has ended, too. Method: a server and a compiler that wait
// until that was said.
func TestSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	folder, said := t.TempDir(), make(chan struct{})
	say := sync.OnceFunc(func() { close(said) })
	l := newTestLauncher(named("quick", present(&server{})), named("slow", func(context.Context) (*server, error) {
		<-said
		return &server{}, os.Mkdir(filepath.Join(folder, "said"), 0o700)
	}))
	l.compiler.command = "cd " + folder + "; echo net/http; until test -d said; do sleep .01; done; mkdir compiled"
	l.progress = progress{pause: time.Millisecond, show: func(format string, args ...any) {
		if strings.HasSuffix(fmt.Sprintf(format, args...), ": net/http; waiting for slow") {
			say()
		}
	}}
	l.wantRun(t, "test -d "+folder+"/compiled", 0)
}

// Goal: what is required and missing, or broken, or waits for what is broken, never ends in a run of the command without it. Method: each beside a
// server that runs by then and has to be stopped.
func TestMissingAndBrokenServersEndTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sources []source
		says    string
	}{
		"required": {[]source{failing(absent("none here"))}, "db is required and missing: none here"},
		"broken":   {[]source{failing(errors.New("does not start")), present(&server{})}, "db: does not start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopped := false
			first := named("first", present(&server{stop: func() error { stopped = true; return nil }}))
			db := named("db", test.sources...)
			db.needs = first
			upper := named("upper", present(&server{}))
			upper.needs = db
			l := newTestLauncher(upper, db, first)
			l.require = []string{"db"}
			l.wantRun(t, "echo was run >&2", 1, "testserver: "+test.says)
			if strings.Contains(l.stderr.String(), "upper") || !stopped {
				t.Errorf("stopped %t, output:\n%s", stopped, l.stderr.String())
			}
		})
	}
}

// Goal: nothing goes on after a signal. Method: a signal while a server starts; the source that it interrupts says that it is absent.
func TestSignalWhileStarting(t *testing.T) {
	t.Parallel()
	stopped := false
	first := named("first", present(&server{stop: func() error { stopped = true; return nil }}))
	slow := named("slow")
	slow.needs = first
	l := newTestLauncher(first, slow)
	slow.sources = []source{func(ctx context.Context) (*server, error) {
		l.signals <- syscall.SIGTERM
		<-ctx.Done()
		return nil, absent("interrupted")
	}}
	l.wantRun(t, "echo was run >&2", 143)
	if !stopped {
		t.Error("the first server was not stopped")
	}
}

// Goal: a signal reaches the whole process group: "go test" alone would leave its test binary behind. Method: a shell and its child.
func TestSignalReachesTheGroup(t *testing.T) {
	t.Parallel()
	l := newTestLauncher()
	reader, writer := io.Pipe()
	l.stdout = writer
	go func() {
		_, _ = reader.Read(make([]byte, 16))
		l.signals <- syscall.SIGTERM
	}()
	l.wantRun(t, `trap : TERM
		sh -c 'trap "echo inner >&2; exit" TERM; echo ready; for i in 1 2 3 4 5; do sleep 1 & wait; done'; exit 5`, 5, "inner")
}

// Goal: a misspelt requirement is an error, and the flags of the command are its own. Method: command lines.
func TestParseOptions(t *testing.T) {
	t.Parallel()
	known := []string{"sqlite", "postgres", "pgbouncer"}
	o, err := parseOptions([]string{"--require", "postgres", "--only=pgbouncer", "--", "x", "--require", "y"}, "mysql, postgres", known)
	if err != nil || strings.Join(o.require, " ") != "mysql postgres" || strings.Join(o.command, " ") != "x --require y" {
		t.Errorf("got %+v, %v", o, err)
	}
	postgres, pgbouncer, mysql := named("postgres"), named("pgbouncer"), named("mysql")
	pgbouncer.needs = postgres
	all := []*backend{postgres, pgbouncer, mysql}
	if !o.starts(postgres, all) || !o.starts(pgbouncer, all) || o.starts(mysql, all) {
		t.Error("--only starts others than what it names and what that needs")
	}
	for _, args := range [][]string{{"--require", "postgers", "--", "x"}, {"--only", "postgers", "--", "x"}, {"--"}, {"--requires", "x"}} {
		if _, err := parseOptions(args, "", known); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
