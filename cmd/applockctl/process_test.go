package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
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
	testProcess(t, map[string]func(*testing.T, binary){
		"ExitCodes":             testProcessExitCodes,
		"Cron":                  testProcessCron,
		"WaitInterrupted":       testProcessWaitInterrupted,
		"PasswordFiles":         testProcessPasswordFiles,
		"Secrets":               testProcessSecrets,
		"PingWaits":             testProcessPingWaits,
		"ExamplesExclude":       testProcessExamplesExclude,
		"ScriptOfAJob":          testProcessScriptOfAJob,
		"ManyAtOnceOnANewFile":  testProcessManyAtOnce,
		"PurgeInterrupted":      testProcessPurgeInterrupted,
		"ListReaderLeaves":      testProcessListReaderLeaves,
		"IgnoredSignalsRemain":  testProcessIgnoredSignals,
		"OutputIsFlushedAtExit": testProcessOutput,
		"SilentServer":          testProcessSilentServer,
		"UnwritableFile":        testProcessUnwritableFile,
		"Completion":            testProcessCompletion,
		"Quiet":                 testProcessQuiet,
		"WatchTmux":             testWatchTmux,
		"WatchReaderLeaves":     testWatchReaderLeaves,
		"Version":               testProcessVersion,
		"RunAlone":              testRunAlone,
		"RunSignals":            testRunSignals,
		"RunEndsWithMaxHold":    testRunEndsWithMaxHold,
		"RunEndsWithoutRenewal": testRunEndsWithoutRenewal,
		"RunLost":               testRunLost,
		"RunFileReplaced":       testRunFileReplaced,
		"RunKilled":             testRunKilled,
		"VerifyHealthy":         testVerifyHealthy,
		"VerifyInterrupted":     testVerifyInterrupted,
		"VerifyInBetween":       testVerifyInBetween,
		"VerifyAsOthers":        testVerifyAsOthers,
		"VerifyAsOperator":      testVerifyAsOperator,
	})
}

// Those that take minutes on a server.
func TestHeavyProcess(t *testing.T) {
	t.Parallel()
	testProcess(t, map[string]func(*testing.T, binary){"VerifyFindsHarm": testVerifyFindsHarm, "WritersOfAFile": testProcessWritersOfAFile})
}

func testProcess(t *testing.T, tests map[string]func(*testing.T, binary)) {
	t.Helper()
	path := testdb.Applockctl(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, binary{path: path, directory: t.TempDir()})
		})
	}
}

func testProcessExitCodes(t *testing.T, b binary) {
	b.dsn = "sqlite:applock.db"
	for _, test := range []struct {
		args string
		code int
	}{
		{"migrate up", exitYes},
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

// environment is one that holds nothing but what is named, as cron's.
func (b binary) environment(ctx context.Context, variables []string, args ...string) *exec.Cmd {
	words := append([]string{"-i", "HOME=" + b.directory}, variables...)
	command := exec.CommandContext(ctx, "env", append(append(words, b.path), args...)...)
	command.Dir = b.directory
	return command
}

// cron runs the program as cron does.
func (b binary) cron(t *testing.T, variables []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := b.environment(t.Context(), variables, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	return result{code: codeOf(command.Run()), stdout: stdout.String(), stderr: stderr.String()}
}

// Goal: a job without its environment fails, and leaves nothing behind; with a file that has the DSN it works. Method:
// env -i HOME=..., as cron runs a job.
func testProcessCron(t *testing.T, b binary) {
	for _, args := range []string{
		"purge --older-than 30d", "get job:nightly --operator host", "inquire job:nightly", "release job:nightly --operator host",
		"transfer job:nightly --from a --to b --by boss", "list", "migrate up", "migrate down", "migrate status", "migrate print",
	} {
		got := b.cron(t, nil, strings.Fields(args)...)
		got.check(t, exitUsage, "the DSN is missing: write --dsn DSN, or set APPLOCK_DSN or APPLOCK_DSN_FILE; "+
			"to try it out: applockctl --dsn sqlite:applock.db migrate up\n")
		if got.stdout != "" {
			t.Errorf("%s prints %s", args, got.stdout)
		}
	}
	for _, args := range []string{"demo", "version", "help", "completion bash", "migrate print --dialect postgres"} {
		if got := b.cron(t, []string{"TMPDIR=" + b.directory}, strings.Fields(args)...); got.code != exitYes {
			t.Errorf("%s needs a DSN: %s", args, got.stderr)
		}
	}
	if names := b.left(t); len(names) > 0 {
		t.Errorf("files: %v", names)
	}

	file := filepath.Join(t.TempDir(), "dsn")
	secret := []string{"APPLOCK_DSN_FILE=" + file}
	if err := os.WriteFile(file, []byte("\ufeffsqlite:"+filepath.Join(b.directory, "applock.db")+" \r\na comment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"migrate up", "get job:nightly --operator host:1", "purge --older-than 30d", "version"} {
		b.cron(t, secret, strings.Fields(args)...).check(t, exitYes)
	}
	b.cron(t, append(secret, "APPLOCK_OPERATOR=host:2"), "get", "job:nightly").check(t, exitNo)
	b.cron(t, append(secret, "APPLOCK_OPERATOR=host:1", "APPLOCK_DEPARTMENT=night"), "get", "job:nightly").check(t, exitYes)
	if got := b.cron(t, secret, "list"); !strings.Contains(got.stdout, "night") {
		t.Errorf("APPLOCK_DEPARTMENT is not read: %s", got.stdout)
	}
	b.cron(t, append(secret, "APPLOCK_OPERATOR=host:2"), "release", "job:nightly", "--operator", "host:1").check(t, exitYes)
	b.cron(t, append(secret, "APPLOCK_DSN=sqlite:nosuch.db"), "list").check(t, exitError, "there is no file nosuch.db")

	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	b.cron(t, secret, "list").check(t, exitUsage, "APPLOCK_DSN_FILE "+file+" has group or world access, make it yours alone: chmod 600 ")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	b.cron(t, secret, "list").check(t, exitUsage, file+" has no DSN in its first line")
	b.cron(t, []string{"APPLOCK_DSN_FILE=/no/such/file"}, "list").check(t, exitUsage, "no such file")
}

// Goal: the examples of the help protect who copies them: of two runs of a job on one host one gets the lock. Method: two
// shells run each line that gets a job's lock.
func testProcessExamplesExclude(t *testing.T, b binary) {
	b.dsn = sqliteUser(t).getenv(dsnVariable)
	lines := regexp.MustCompile(`(?m)^ *applockctl (get job:.*)$`).FindAllStringSubmatch(userOf("").must(t, "get", "--help").stdout, -1)
	if len(lines) == 0 {
		t.Fatal("the help has no example of a job")
	}
	for _, line := range lines {
		var codes []int
		for range 2 {
			shell := exec.CommandContext(t.Context(), "sh", "-c", b.path+" "+line[1])
			shell.Env = []string{"PATH=" + os.Getenv("PATH"), dsnVariable + "=" + b.dsn}
			codes = append(codes, codeOf(shell.Run()))
		}
		if !slices.Equal(codes, []int{exitYes, exitNo}) {
			t.Errorf("%s: exit codes %v", line[1], codes)
		}
	}
}

// Goal: the script of docs/cron.md protects who copies it: of two hosts one runs the job, and the other ends where it is refused.
// Method: the lines of its script up to the release, in a shell with cron's environment, free and while somebody else has the lock.
func testProcessScriptOfAJob(t *testing.T, b binary) {
	u := sqliteUser(t)
	b.dsn = u.getenv(dsnVariable)
	page, err := os.ReadFile("../../docs/cron.md")
	if err != nil {
		t.Fatal(err)
	}
	script := regexp.MustCompile("(?s)```sh\n([^`]*?me=.*?)applockctl release.*?```").FindSubmatch(page)
	if script == nil {
		t.Fatal("the page has no script of a job")
	}
	for _, code := range []int{exitYes, exitNo} {
		lines := strings.ReplaceAll(string(script[1]), "/usr/local/bin", filepath.Dir(b.path))
		shell := exec.CommandContext(t.Context(), "sh", "-c", lines+"echo the job goes on")
		shell.Env = []string{"PATH=/usr/bin:/bin", dsnVariable + "=" + b.dsn}
		output, err := shell.CombinedOutput()
		if codeOf(err) != code || strings.Contains(string(output), "goes on") != (code == exitYes) {
			t.Errorf("exit code %d, want %d: %s", codeOf(err), code, output)
		}
	}
}

// Goal: who ends a wait is not told that the server is dead. Method: a signal to a process that is listed as waiting.
func testProcessWaitInterrupted(t *testing.T, b binary) {
	u := sqliteUser(t)
	b.dsn = u.getenv(dsnVariable)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		var stderr bytes.Buffer
		command := b.command(t.Context(), "get", "customer:42", "--operator", "asmith", "--wait", "10m")
		command.Stderr = &stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		for u.must(t, "list", "--waiting", "--output", "json").stdout == "" {
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := codeOf(command.Wait()); code != 130 || !strings.HasSuffix(stderr.String(), "applockctl: get customer:42: interrupted\n") {
			t.Errorf("%v: exit code %d: %s", signal, code, stderr.String())
		}
	}
}

// Twenty processes on one file that does not exist yet: one gets the lock, nineteen are told who has it.
func testProcessManyAtOnce(t *testing.T, b binary) {
	b.dsn = "sqlite:applock.db"
	results := make([]result, 20)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			if results[i] = b.run(t.Context(), "migrate", "up"); results[i].code == exitYes {
				results[i] = b.run(t.Context(), "get", "customer:42", "--operator", fmt.Sprintf("operator%d", i))
			}
		})
	}
	group.Wait()
	checkOneGranted(t, results)
}

// Goal: processes that want a lock each in one file all get it within --timeout, however long the file's writers take. Method: a hundred of them
// behind a transaction that lasts longer than the driver waits by itself.
func testProcessWritersOfAFile(t *testing.T, b binary) {
	u := sqliteUser(t)
	b.dsn = u.getenv(dsnVariable)
	var group sync.WaitGroup
	withFile(t, u, func(exec func(string)) {
		exec("BEGIN IMMEDIATE; CREATE TABLE other (id INTEGER)")
		for i := range 100 {
			group.Go(func() {
				b.run(t.Context(), "get", fmt.Sprintf("document:%d", i), "--operator", "jdoe", "--timeout", "10m").check(t, exitYes)
			})
		}
		time.Sleep(6 * time.Second) // no bound of the test: a machine that is slow lets them wait less
		exec("COMMIT")
	})
	group.Wait()
	if listed := u.must(t, "list"); listed.stderr != "100 locks\n" {
		t.Error(listed.stderr)
	}
}

// Ctrl-C in the middle: what was purged stays so, the rest is there, and the next purge goes on.
func testProcessPurgeInterrupted(t *testing.T, b binary) {
	const total = 30000
	u := sqliteUser(t)
	b.dsn = u.getenv(dsnVariable)
	file := pathOf(b.dsn)
	b.directory = filepath.Dir(file)
	addFreeRows(t, u, total)
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
	if got.code != exitInterrupted {
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
	if again := b.run(t.Context(), patient([]string{"purge", "--batch", "10000"})...); again.stdout != fmt.Sprintf("PURGED\n%d\n", left) {
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

// A list that nobody reads to its end, as with head, ends without a word.
func testProcessListReaderLeaves(t *testing.T, b binary) {
	b.dsn = "sqlite:applock.db"
	u := userOf("sqlite:" + filepath.Join(b.directory, "applock.db"))
	u.must(t, "migrate", "up")
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO appl_lock SELECT 'customer', i, 'jdoe', '', 1, 0, 0, 604800, 4102444800000000, '', 'N', NULL FROM n`)
	})
	b.checkReaderLeaves(t, "list")
}

// checkReaderLeaves checks that a command ends without a word once its reader has read one line and left.
func (b binary) checkReaderLeaves(t *testing.T, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	command := b.command(t.Context(), args...)
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

// Goal: whatever becomes of stdout and stderr, the exit code tells that a lock was got, and is not that of a call without an effect.
// Method: a disk that is full, a pipe whose reader has left, and streams that are closed.
func testProcessOutput(t *testing.T, b binary) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	b.dsn = "sqlite:applock.db"
	b.run(t.Context(), "migrate", "up", "--quiet").check(t, exitYes)
	for i, test := range []struct {
		streams string
		code    int
		told    string
	}{
		{">/dev/full", exitUnknown, "no space left on device; the call has had its effect: ACQUIRED, object customer:0, holder jdoe, since "},
		{"--output json >/dev/full", exitUnknown, "the call has had its effect: ACQUIRED"},
		{">/dev/full 2>/dev/full", exitUnknown, ""},
		{">/dev/full 2>&-", exitUnknown, ""},
		{"2>/dev/full", exitYes, ""},
		{"2>&-", exitYes, ""},
		{">&-", exitYes, ""}, // as if it were /dev/null
		{"", exitUnknown, "broken pipe; the call has had its effect: ACQUIRED"},
	} {
		object := fmt.Sprint("customer:", i)
		command := exec.CommandContext(t.Context(), "sh", "-c", b.path+" get "+object+" --operator jdoe "+test.streams)
		command.Dir, command.Env = b.directory, []string{dsnVariable + "=" + b.dsn}
		var stderr bytes.Buffer
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		command.Stdout, command.Stderr = &stderr, &stderr
		if test.streams == "" {
			command.Stdout = writer
		}
		if code := codeOf(command.Run()); code != test.code || !strings.Contains(stderr.String(), test.told) {
			t.Errorf("get %s: exit code %d: %s", test.streams, code, stderr.String())
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if got := b.run(t.Context(), "inquire", object); !strings.Contains(got.stdout, "jdoe") {
			t.Errorf("after get %s nobody has the object: %s", test.streams, got.stdout)
		}
	}
}

// A server that accepts and never answers: nothing was sent, so that nothing is unknown, and --timeout ends the attempt,
// also that of a migration, which waits for other migrators without a limit.
func testProcessSilentServer(t *testing.T, b binary) {
	const hangs = 2 * time.Minute // more than any command waits
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	var group sync.WaitGroup
	for _, protocol := range protocols() {
		b := b
		b.dsn = protocol.dsn(fakeServer(t, silent))
		for _, args := range []string{
			"get customer:42 --operator jdoe",
			"get customer:42 --operator jdoe --wait 1s",
			"release customer:42 --operator jdoe",
			"inquire customer:42",
			"transfer customer:42 --from jdoe --to asmith --by boss",
			"list",
			"list --waiting",
			"purge --older-than 30d",
			"renew customer:42 --operator jdoe --fence 17",
			"assert customer:42 --operator jdoe --fence 17",
			"ping",
			"version",
			"demo",
			"migrate status",
			"migrate up",
			"migrate up --dry-run",
			"migrate down",
			"migrate goto 1",
			"migrate repair",
			"migrate uninstall --yes",
		} {
			group.Go(func() {
				got := b.run(ctx, append([]string{"--timeout", "1s"}, strings.Fields(args)...)...)
				got.check(t, exitError, "no answer from the database within 1s, see --timeout")
			})
		}
	}
	group.Wait()
}
