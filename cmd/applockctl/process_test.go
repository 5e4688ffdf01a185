package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary is the program as users get it, and a directory of its own for what it leaves behind.
type binary struct {
	path      string
	directory string
	dsn       string
}

// command prepares a process whose standard streams are files or pipes, as in a shell.
func (b binary) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, b.path, args...)
	command.Dir = b.directory
	command.Env = []string{dsnVariable + "=" + b.dsn, "TMPDIR=" + b.directory}
	command.WaitDelay = time.Minute
	return command
}

func (b binary) run(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	command := b.command(ctx, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	return result{code: codeOf(command.Run()), stdout: stdout.String(), stderr: stderr.String()}
}

// codeOf returns the exit code of a process, -1 for one that a signal has killed.
func codeOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// left returns the names of the files in the directory.
func (b binary) left(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(b.directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Goal: what a shell sees of the program. Method: build it once, and run it as processes.
func TestProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "applockctl")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	for name, test := range map[string]func(*testing.T, binary){
		"ExitCodes":             testProcessExitCodes,
		"ManyAtOnceOnANewFile":  testProcessManyAtOnce,
		"PurgeInterrupted":      testProcessPurgeInterrupted,
		"DemoInterrupted":       testProcessDemoInterrupted,
		"DemoReaderLeaves":      testProcessDemoReaderLeaves,
		"DemoServers":           testProcessDemoServers,
		"ListReaderLeaves":      testProcessListReaderLeaves,
		"IgnoredSignalsRemain":  testProcessIgnoredSignals,
		"OutputIsFlushedAtExit": testProcessOutput,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, binary{path: path, directory: t.TempDir()})
		})
	}
}

// Without any DSN the file is applock.db in the working directory.
func testProcessExitCodes(t *testing.T, b binary) {
	for _, test := range []struct {
		args string
		code int
	}{
		{"get customer:42 --operator jdoe", exitYes},
		{"get customer:42 --operator asmith", exitNo},
		{"inquire customer:43", exitNo},
		{"get customer:42", exitUsage},
		{"--dsn sqlite:missing/applock.db list", exitError},
		{"--timeout 1s --dsn postgres://jdoe@127.0.0.1:1/crm get customer:42 --operator jdoe", exitError},
		{"--timeout 1s --dsn mysql://jdoe@127.0.0.1:1/crm get customer:42 --operator jdoe", exitError},
		{"--dsn jdoe@tcp(127.0.0.1:1)/crm get customer:42 --operator jdoe", exitError},
	} {
		b.run(t.Context(), strings.Fields(test.args)...).check(t, test.code)
	}
	if names := b.left(t); len(names) != 1 || names[0] != "applock.db" {
		t.Errorf("files: %v", names)
	}
}

// Twenty processes on one file that does not exist yet: one gets the lock, nineteen are told who has it.
func testProcessManyAtOnce(t *testing.T, b binary) {
	results := make([]result, 20)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			results[i] = b.run(t.Context(), "get", "customer:42", "--operator", fmt.Sprintf("operator%d", i))
		})
	}
	group.Wait()
	checkOneGranted(t, results)
}

// Ctrl-C in the middle: what was purged stays so, the rest is there, and the next purge goes on.
func testProcessPurgeInterrupted(t *testing.T, b binary) {
	const total = 30000
	file := filepath.Join(b.directory, "applock.db")
	b.dsn = "sqlite:" + file
	addFreeRows(t, userOf(b.dsn), total)
	var stdout, stderr bytes.Buffer
	command := b.command(t.Context(), "purge", "--batch", "1")
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for countRows(t, file) == total {
		time.Sleep(time.Millisecond)
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	got := result{code: codeOf(command.Wait()), stdout: stdout.String(), stderr: stderr.String()}
	if got.code != exitUnknown && got.code != exitError {
		t.Errorf("exit code %d", got.code)
	}
	got.check(t, got.code, "interrupted (", " purged before)\n")
	_, text, _ := strings.Cut(got.stderr, "interrupted (")
	text, _, _ = strings.Cut(text, " ")
	told, err := strconv.Atoi(text)
	left := countRows(t, file)
	// The last batch may have been cut off after it had its effect: that is what "unknown" means.
	if gone := total - left; err != nil || gone != told && gone != told+1 {
		t.Errorf("%d rows are gone, and %q are told", gone, text)
	}
	if again := b.run(t.Context(), "purge", "--batch", "10000"); again.stdout != fmt.Sprintf("PURGED\n%d\n", left) {
		t.Errorf("the next purge: %s%s", again.stdout, again.stderr)
	}
	// SQLite may keep its log when its last statement was interrupted; the next process clears it away.
	if names := b.left(t); len(names) != 1 {
		t.Errorf("files: %v", names)
	}
}

func countRows(t *testing.T, file string) int {
	t.Helper()
	handle, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	var rows int
	if err := handle.QueryRowContext(t.Context(), "SELECT count(*) FROM appl_lock").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// startDemo starts the demo and reads its output up to a step.
func startDemo(t *testing.T, b binary, step string) (command *exec.Cmd, stdout io.ReadCloser, stderr *bytes.Buffer) {
	t.Helper()
	stderr = new(bytes.Buffer)
	command = b.command(t.Context(), "demo", "--timeout", "1m") // a busy server takes its time
	command.Stderr = stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), step) {
			return command, stdout, stderr
		}
	}
	t.Fatalf("the demo ends before step %s", step)
	return nil, nil, nil
}

func testProcessDemoInterrupted(t *testing.T, b binary) {
	for _, step := range []string{"1.", "4.", "9."} {
		command, stdout, stderr := startDemo(t, b, step)
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, stdout)
		if code := codeOf(command.Wait()); code != exitError || !strings.HasSuffix(stderr.String(), "applockctl: demo: interrupted\n") {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
		if names := b.left(t); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	}
}

// The reader of the story leaves, as head does: the demo ends, quietly, and cleans up.
func testProcessDemoReaderLeaves(t *testing.T, b binary) {
	command, stdout, stderr := startDemo(t, b, "2.")
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(command.Wait()); code != exitError || strings.Contains(stderr.String(), "applockctl: ") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if names := b.left(t); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// On a server the schema goes, whichever way the demo ends.
func testProcessDemoServers(t *testing.T, b binary) {
	onServers(t, func(t *testing.T, s server) {
		b := b
		b.dsn = s.newDatabase(t)
		before := s.contents(t, b.dsn)
		got := b.run(t.Context(), "demo", "--timeout", "1m")
		if got.code != exitYes {
			t.Errorf("exit code %d: %s", got.code, got.stderr)
		}
		s.checkNoDemo(t, b.dsn, before, got.stderr)
		for name, end := range map[string]func(*exec.Cmd, io.ReadCloser) error{
			"Ctrl-C":            func(command *exec.Cmd, _ io.ReadCloser) error { return command.Process.Signal(os.Interrupt) },
			"the reader leaves": func(_ *exec.Cmd, stdout io.ReadCloser) error { return stdout.Close() },
		} {
			command, stdout, stderr := startDemo(t, b, "3.")
			if err := end(command, stdout); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, stdout)
			if code := codeOf(command.Wait()); code != exitError {
				t.Errorf("%s: exit code %d: %s", name, code, stderr.String())
			}
			s.checkNoDemo(t, b.dsn, before, stderr.String())
		}
	})
}

// A list that nobody reads to its end, as with head, ends without a word.
func testProcessListReaderLeaves(t *testing.T, b binary) {
	b.dsn = "sqlite:applock.db"
	u := userOf("sqlite:" + filepath.Join(b.directory, "applock.db"))
	u.must(t, "list")
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO appl_lock SELECT 'customer', i, 'jdoe', '', 1, 0, 0, 4102444800000000 FROM n`)
	})
	var stderr bytes.Buffer
	command := b.command(t.Context(), "list")
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(command.Wait()); code != exitError || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// What nohup has switched off stays off.
func testProcessIgnoredSignals(t *testing.T, b binary) {
	shell := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; "$0" demo & pid=$!; sleep 0.5; kill -HUP $pid; wait $pid`, b.path)
	shell.Dir, shell.Env = b.directory, []string{"TMPDIR=" + b.directory, "PATH=" + os.Getenv("PATH")}
	if output, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(output), "\n12. ") {
		t.Errorf("%v: %s", err, output)
	}
}

// A result that goes to a full device is an error.
func testProcessOutput(t *testing.T, b binary) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer func() { _ = full.Close() }()
	var stderr bytes.Buffer
	command := b.command(t.Context(), "get", "customer:42", "--operator", "jdoe")
	command.Stdout, command.Stderr = full, &stderr
	if code := codeOf(command.Run()); code != exitError || !strings.HasPrefix(stderr.String(), "applockctl: get customer:42: print the result: ") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
