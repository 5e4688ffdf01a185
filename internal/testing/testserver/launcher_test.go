//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// testLauncher is a launcher whose output is kept. Standard output is a pipe's or a buffer's matter: nil discards it.
type testLauncher struct {
	launcher
	signals chan os.Signal
	stderr  bytes.Buffer
}

func newTestLauncher(backends ...backend) *testLauncher {
	l := &testLauncher{signals: make(chan os.Signal, 8)}
	l.launcher = launcher{
		backends: backends,
		getenv:   func(string) string { return "" },
		say:      newSay(&l.stderr),
		signals:  l.signals,
		stderr:   &l.stderr,
	}
	return l
}

func (l *testLauncher) wantOutput(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(l.stderr.String(), part) {
			t.Errorf("output lacks %q:\n%s", part, l.stderr.String())
		}
	}
}

func TestExitCodePassesThrough(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		want    int
	}{
		"Success":       {[]string{"true"}, 0},
		"Failure":       {[]string{"sh", "-c", "exit 7"}, 7},
		"KilledItself":  {[]string{"sh", "-c", "kill -KILL $$"}, 137},
		"NotFound":      {[]string{"applock-no-such-program"}, 127},
		"NotFoundPath":  {[]string{"./applock-no-such-program"}, 127},
		"NotExecutable": {[]string{"/"}, 126},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLauncher()
			if got := l.run(append([]string{"--"}, test.command...)); got != test.want {
				t.Errorf("exit code = %d, want %d; output:\n%s", got, test.want, l.stderr.String())
			}
		})
	}
}

func TestServersAreSummedUpAndAreStoppedWhenTheCommandFails(t *testing.T) {
	t.Parallel()
	var stopped []string
	var stopping sync.Mutex
	stop := func(name string) func() error {
		return func() error {
			stopping.Lock()
			defer stopping.Unlock()
			stopped = append(stopped, name)
			return errors.New("stop " + name + ": stuck")
		}
	}
	l := newTestLauncher(
		backend{name: "one", sources: []source{present(&server{version: "1.5", origin: "private, /bin, port 5", stop: stop("one")})}},
		backend{name: "two", sources: []source{missingSource("none here")}},
		backend{name: "three", sources: []source{present(&server{version: "3", origin: "given by X"})}},
		backend{name: "four", sources: []source{present(&server{version: "4", origin: "o", stop: stop("four")})}},
	)
	if got := l.run([]string{"--", "false"}); got != 1 {
		t.Errorf("exit code = %d", got)
	}
	slices.Sort(stopped)
	if got := strings.Join(stopped, " "); got != "four one" {
		t.Errorf("stopped %q, want both that were started and not the given one", got)
	}
	l.wantOutput(t,
		"running without two: none here",
		"one: stop one: stuck",
		"backends: sqlite (embedded); one 1.5 (private, /bin, port 5); two missing (none here); "+
			"three 3 (given by X); four 4 (o)\n")
}

func TestTheCommandIsToldAboutServersAndRequirements(t *testing.T) {
	t.Parallel()
	l := newTestLauncher(backend{name: "db", sources: []source{present(&server{version: "15", origin: "o", env: []string{"APPLOCK_TESTSERVER_X=y"}})}})
	var stdout bytes.Buffer
	l.stdout, l.stdin = &stdout, strings.NewReader("typed\n")
	code := l.run([]string{"--require", "db", "--", "sh", "-c", "read line; echo $line $APPLOCK_TESTSERVER_X $APPLOCK_TEST_REQUIRE; echo $APPLOCK_TEST_BACKENDS"})
	if code != 0 || stdout.String() != "typed y db\nsqlite (embedded); db 15 (o)\n" {
		t.Errorf("exit code %d, output %q", code, stdout.String())
	}
}

// running returns next, which begins only when a server before it runs, and the backend of that server.
func running(stop func() error, next backend) []backend {
	runs := make(chan struct{})
	first := func(context.Context) (*server, error) {
		close(runs)
		return &server{stop: stop}, nil
	}
	start := next.sources[0]
	next.sources[0] = func(ctx context.Context) (*server, error) {
		<-runs
		return start(ctx)
	}
	return []backend{{name: "first", sources: []source{first}}, next}
}

func TestAMissingRequirementEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*testLauncher) []string{
		"ByFlag": func(*testLauncher) []string { return []string{"--require", "db"} },
		"ByEnvironment": func(l *testLauncher) []string {
			l.getenv = func(string) string { return "other,db" }
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopped := false
			stop := func() error { stopped = true; return nil }
			l := newTestLauncher(
				running(stop, backend{name: "db", sources: []source{missingSource("none here")}})...)
			if got := l.run(append(arrange(l), "--", "sh", "-c", "echo was run >&2")); got != 1 {
				t.Errorf("exit code = %d", got)
			}
			l.wantOutput(t, "db is required and missing: none here; provide")
			if strings.Contains(l.stderr.String(), "was run") {
				t.Error("the command was run")
			}
			if !stopped {
				t.Error("the first server was not stopped")
			}
		})
	}
}

func TestABrokenServerEndsTheRunEvenIfNotRequired(t *testing.T) {
	t.Parallel()
	l := newTestLauncher(backend{name: "db", sources: []source{broken(errors.New("does not start"))}})
	if got := l.run([]string{"--", "sh", "-c", "echo was run >&2"}); got != 1 || strings.Contains(l.stderr.String(), "was run") {
		t.Errorf("exit code = %d, output:\n%s", got, l.stderr.String())
	}
	l.wantOutput(t, "db: does not start")
}

// Starting takes seconds: nobody should wait for servers that will not be used.
func TestABrokenServerEndsTheStartOfTheOthers(t *testing.T) {
	t.Parallel()
	l := newTestLauncher(
		backend{name: "slow", sources: []source{func(ctx context.Context) (*server, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}},
		backend{name: "db", sources: []source{broken(errors.New("does not start"))}})
	if got := l.run([]string{"--", "true"}); got != 1 {
		t.Errorf("exit code = %d", got)
	}
	if got, want := l.stderr.String(), "testserver: db: does not start\n"; got != want {
		t.Errorf("output = %q, want the cause alone: %q", got, want)
	}
}

func TestServersStartAtTheSameTime(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	meet := func(context.Context) (*server, error) {
		both.Done()
		both.Wait()
		return &server{}, nil
	}
	l := newTestLauncher(backend{name: "one", sources: []source{meet}}, backend{name: "two", sources: []source{meet}})
	if got := l.run([]string{"--", "true"}); got != 0 {
		t.Errorf("exit code = %d, output:\n%s", got, l.stderr.String())
	}
}

func TestASignalWhileStartingStopsWhatRuns(t *testing.T) {
	t.Parallel()
	stopped := false
	var l *testLauncher
	l = newTestLauncher(running(
		func() error { stopped = true; return nil },
		backend{name: "slow", sources: []source{func(ctx context.Context) (*server, error) {
			l.signals <- syscall.SIGTERM
			<-ctx.Done()
			return nil, ctx.Err()
		}}})...)
	if got := l.run([]string{"--", "sh", "-c", "echo was run >&2"}); got != 143 {
		t.Errorf("exit code = %d", got)
	}
	if !stopped || strings.Contains(l.stderr.String(), "was run") {
		t.Errorf("stopped = %t, output:\n%s", stopped, l.stderr.String())
	}
}

// The signal must reach the whole process group: "go test" alone would leave its test binary behind.
func TestASignalReachesTheCommandsGroup(t *testing.T) {
	t.Parallel()
	stopped := false
	l := newTestLauncher(backend{name: "db", sources: []source{present(&server{stop: func() error { stopped = true; return nil }})}})
	reader, writer := io.Pipe()
	l.stdout = writer
	code := make(chan int, 1)
	go func() {
		code <- l.run([]string{"--", "sh", "-c", `trap : TERM
			sh -c 'trap "echo inner >&2; exit" TERM; echo ready; for i in 1 2 3 4 5; do sleep 1 & wait; done'; exit 5`})
	}()
	if _, err := reader.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	l.signals <- syscall.SIGTERM
	if got := <-code; got != 5 {
		t.Errorf("exit code = %d", got)
	}
	if !stopped {
		t.Error("the server was not stopped")
	}
	l.wantOutput(t, "inner", "backends: ")
}

// Goal: --only starts what it names and nothing else. Method: of two products, one would fail the run.
func TestOnlyStartsWhatItNames(t *testing.T) {
	t.Parallel()
	l := newTestLauncher(
		backend{name: "one", sources: []source{present(&server{version: "1", origin: "o"})}},
		backend{name: "two", sources: []source{func(context.Context) (*server, error) { return nil, errors.New("was started") }}},
	)
	if got := l.run([]string{"--only", "one", "--", "true"}); got != 0 {
		t.Errorf("exit code = %d", got)
	}
	l.wantOutput(t, "backends: sqlite (embedded); one 1 (o)\n")
}
