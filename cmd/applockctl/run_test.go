package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testfile"
)

// runBinary is the program on a new SQLite file, and a user who looks on.
func runBinary(t *testing.T, b binary) (binary, user) {
	t.Helper()
	u := sqliteUser(t)
	b.dsn = u.getenv(dsnVariable)
	b.directory = filepath.Dir(pathOf(b.dsn))
	return b, u
}

// running is a run whose command has begun.
type running struct {
	*exec.Cmd

	stderr bytes.Buffer
}

// begin runs a script that writes a file "began" before anything else, and returns when it has.
func (b binary) begin(t *testing.T, script string, flags ...string) *running {
	t.Helper()
	args := append(append([]string{"run", "job:nightly"}, flags...), "--", "sh", "-c", "echo $$ > began.new; mv began.new began; "+script)
	command := b.command(t.Context(), args...)
	command.Env = append(command.Env, "PATH="+os.Getenv("PATH"))
	r := &running{Cmd: command}
	r.Stderr = &r.stderr
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	b.await(t, "began")
	return r
}

// await returns when there is a file.
func (b binary) await(t *testing.T, name string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // between two looks
		if _, err := os.Stat(filepath.Join(b.directory, name)); err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("there is no file %s", name)
		}
	}
}

// end waits for the run, and checks its exit code and what it says.
func (r *running) end(t *testing.T, code int, says ...string) {
	t.Helper()
	if got := codeOf(r.Wait()); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, &r.stderr)
	}
	for _, text := range says {
		if !strings.Contains(r.stderr.String(), text) {
			t.Errorf("it does not say %q: %s", text, &r.stderr)
		}
	}
}

// nightly is what inquire tells of the job.
type nightly struct {
	Outcome     string `json:"outcome"`
	Holder      string `json:"holder_id"`
	Fence       int64  `json:"fence"`
	SecondsLeft int64  `json:"seconds_left"`
}

func nightlyOf(t *testing.T, u user) nightly {
	t.Helper()
	var found nightly
	if err := json.Unmarshal([]byte(u.run(t, "inquire", "job:nightly", "--output", "json").stdout), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func (h nightly) check(t *testing.T, outcome string) {
	t.Helper()
	if h.Outcome != outcome {
		t.Errorf("the job is %+v, want %s", h, outcome)
	}
}

// Goal: on every dialect a command runs with the lock and knows it, its exit code is that of the run, and the lock is free
// afterwards. Method: commands that ask for their own lock.
func TestRun(t *testing.T) {
	t.Parallel()
	onEveryDialect(t, runsWithLock)
}

// Goal: what the program says is committed, also where the DSN switches autocommit off. Method: TestRun.
func TestRunWithoutAutocommit(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) { runsWithLock(t, userOf(s.lentDatabase(t)+"?autocommit=0")) })
}

func runsWithLock(t *testing.T, u user) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seen")
	script := `echo "$APPLOCK_OBJECT $APPLOCK_OPERATOR $APPLOCK_DEPARTMENT $APPLOCK_FENCE" > ` + file + "; exit 7"
	got := u.run(t, "run", "job:nightly", "--operator", "batch", "--department", "it", "--", "sh", "-c", script)
	if got.code != 7 || got.stdout+got.stderr != "" {
		t.Errorf("a command that ends with 7: %+v", got)
	}
	words := strings.Fields(testfile.Read(t, file))
	if len(words) != 4 || words[0] != "job:nightly" || !strings.HasPrefix(words[1], "batch/") || words[2] != "it" || len(words[3]) < 10 {
		t.Errorf("the command sees %q", words)
	}
	nightlyOf(t, u).check(t, "FREE")
	u.must(t, "run", "job:nightly", "--", "true")

	u.must(t, "get", "job:nightly", "--operator", "jdoe")
	u.run(t, "run", "job:nightly", "--", "sh", "-c", "rm "+file).check(t, exitConflict, "applockctl: run job:nightly: held by jdoe since ")
	u.run(t, "run", "job:nightly", "--conflict-exit-code", "9", "--", "sh", "-c", "rm "+file).check(t, 9)
	if got := u.must(t, "run", "job:nightly", "--skip-if-held", "--", "sh", "-c", "rm "+file); got.stdout+got.stderr != "" {
		t.Errorf("it prints %s%s", got.stdout, got.stderr)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("a command has run while somebody else held the object")
	}
}

// Goal: after a quick end the object stays locked for the time that was asked for, and nobody renews it. Method: the time that
// is left, and a second run.
func TestRunAtLeast(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.run(t, "run", "job:nightly", "--at-least", "14m", "--ttl", "10s", "--", "false").check(t, 1)
	if held := nightlyOf(t, u); held.Outcome != "HELD" || held.SecondsLeft < 13*60 || held.SecondsLeft > 14*60+1 {
		t.Errorf("afterwards the job is %+v, want it locked for 14 minutes", held)
	}
	u.run(t, "run", "job:nightly", "--", "true").check(t, exitConflict)
}

func TestRunUsage(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for line, says := range map[string]string{
		"run":                               "the object is missing",
		"run job:nightly":                   "the command is missing",
		"run job:nightly --":                "the command is missing",
		"run job:nightly true":              "write -- before the command",
		"run -- true":                       "the object is missing",
		"run job -- true":                   "OBJECT",
		"run job:nightly job:daily -- true": `unexpected argument "job:daily"`,
		"run job:nightly --ttl 0s -- true":  "--ttl",
		"run job:nightly --max-hold 1s --at-least 2s -- true":                 "--at-least must not be longer than --max-hold",
		"run job:nightly --ttl 60s --grace 21s -- true":                       "--grace must be at most 20s, a third of --ttl",
		"run job:nightly --max-hold 30s --grace 11s -- true":                  "--grace must be at most 10s, a third of --max-hold",
		"run job:nightly --conflict-exit-code 256 -- true":                    "--conflict-exit-code must lie between 0 and 255",
		"run job:nightly --skip-if-held --conflict-exit-code 9 -- true":       "skip-if-held",
		"run job:nightly --operator " + strings.Repeat("x", 250) + " -- true": "--operator",
	} {
		u.run(t, strings.Fields(line)...).check(t, exitUsage, says)
	}
	u.run(t, "run", "job:nightly", "--", "/no/such/program").check(t, exitNotFound, "no such file")
	u.run(t, "run", "job:nightly", "--", t.TempDir()).check(t, exitNotExecutable, "permission denied")
	nightlyOf(t, u).check(t, "FREE")
	down := userOf("postgres://jdoe@127.0.0.1:1/crm")
	down.run(t, "run", "job:nightly", "--timeout", "1s", "--", "true").check(t, exitError, "refused")
}

// Goal: of many that start a job at once one runs it, and of those that wait each runs alone. Method: eight processes, whose command
// fails where a directory is there that each makes and removes.
func testRunAlone(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	script := "mkdir busy || exit 99; echo ran >> log; sleep 0.1; rmdir busy"
	many := func(flags ...string) (codes map[int]int) {
		codes = map[int]int{}
		var mutex sync.Mutex
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				command := b.command(t.Context(), append(append([]string{"run", "job:nightly"}, flags...), "--", "sh", "-c", script)...)
				command.Env = append(command.Env, "PATH="+os.Getenv("PATH"))
				code := codeOf(command.Run())
				mutex.Lock()
				defer mutex.Unlock()
				codes[code]++
			})
		}
		group.Wait()
		return codes
	}
	if codes := many("--at-least", "1h"); codes[exitYes] != 1 || codes[exitConflict] != 7 {
		t.Errorf("exit codes %v, want one 0 and seven 75", codes)
	}
	u.must(t, "release", "job:nightly", "--operator", nightlyOf(t, u).Holder)
	if codes := many("--wait", "5m"); codes[exitYes] != 8 {
		t.Errorf("exit codes of those that wait: %v, want eight 0", codes)
	}
	if log, err := os.ReadFile(filepath.Join(b.directory, "log")); err != nil || strings.Count(string(log), "ran") != 9 {
		t.Errorf("the job ran %d times, %v", strings.Count(string(log), "ran"), err)
	}
}

// Goal: a signal reaches the command and what it has started, and the lock is free when that has ended. Method: a script that
// waits for a child, each of which says what it gets.
func testRunSignals(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	r := b.begin(t, `trap 'wait; exit 3' TERM; sh -c 'trap "echo > child; exit" TERM; echo > ready; while :; do sleep 0.05; done' & while :; do sleep 0.05; done`)
	b.await(t, "ready")
	nightlyOf(t, u).check(t, "HELD")
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.end(t, 3)
	b.await(t, "child")
	nightlyOf(t, u).check(t, "FREE")

	r = b.begin(t, "kill -KILL $$")
	r.end(t, 128+9)
	nightlyOf(t, u).check(t, "FREE")
}

// stubborn does not end by SIGTERM, and leaves the time of its last step in the file "beat", in seconds.
const stubborn = `trap "" TERM; while :; do date +%s.%N > beat.new; mv beat.new beat; sleep 0.05; done`

// lastBeat is the time of the last step of a stubborn command.
func (b binary) lastBeat(t *testing.T) time.Time {
	t.Helper()
	seconds, err := strconv.ParseFloat(strings.TrimSpace(testfile.Read(t, filepath.Join(b.directory, "beat"))), 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(int64(seconds * 1e6))
}

// Goal: a command is never alive without its lock, however it takes SIGTERM: when --max-hold is over it has ended before another run begins.
// Method: a stubborn one, and a run that waits and looks whether the former command is alive.
func testRunEndsWithMaxHold(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	r := b.begin(t, stubborn, "--max-hold", "9s", "--grace", "2s")
	next := b.command(t.Context(), "run", "job:nightly", "--wait", "2m", "--", "sh", "-c", `kill -0 "$(cat began)" 2> error && echo alive; true`)
	next.Env = append(next.Env, "PATH="+os.Getenv("PATH"))
	seen, err := next.Output()
	if err != nil || len(seen) > 0 {
		t.Errorf("the next run: %v; the former command is %q, want it to be gone", err, seen)
	}
	r.end(t, exitLost, "applockctl: run job:nightly: --max-hold is over", "goes on 2s after SIGTERM; killing it")
	nightlyOf(t, u).check(t, "FREE")

	r = b.begin(t, "while :; do sleep 0.05; done", "--max-hold", "3s")
	r.end(t, exitLost, "--max-hold is over; ending the command")
	nightlyOf(t, u).check(t, "FREE")
}

// Goal: the same where the lock cannot be renewed: the command has ended before the lock does. Method: a transaction that keeps all writers out,
// and sees until when the command has the lock.
func testRunEndsWithoutRenewal(t *testing.T, b binary) {
	b, _ = runBinary(t, b)
	r := b.begin(t, stubborn, "--ttl", "9s", "--grace", "3s")
	file, err := sql.Open("sqlite", filepath.Join(b.directory, "applock.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	alone, err := file.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alone.Rollback() }()
	var expires int64
	if err := alone.QueryRowContext(t.Context(), "SELECT expires_ts FROM appl_lock").Scan(&expires); err != nil {
		t.Fatal(err)
	}
	r.end(t, exitLost, "was not renewed; ending the command", "goes on 3s after SIGTERM; killing it")
	if beat := b.lastBeat(t); beat.After(time.UnixMicro(expires)) {
		t.Errorf("the command was alive at %s, and its lock had ended at %s", beat, time.UnixMicro(expires))
	}
}

// Goal: a command whose lock somebody else has ended is killed at once, since another run may have begun, and the exit code tells it. Method: a
// supervisor releases the lock of a stubborn one.
func testRunLost(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	r := b.begin(t, stubborn, "--ttl", "3s", "--grace", "1s")
	u.must(t, "release", "job:nightly", "--operator", nightlyOf(t, u).Holder)
	r.end(t, exitLost, "applockctl: run job:nightly: ", "lost", "killing the command")
	if strings.Contains(r.stderr.String(), "SIGTERM") {
		t.Errorf("it waits for the command to end: %s", &r.stderr)
	}
	nightlyOf(t, u).check(t, "FREE")
}

// Goal: a file that is put in the place of the database is the database: a run does not go on beside a holder in the new file, as after a restore.
// Method: the file of an installation in which somebody else holds the object; the next renewal sees that.
func testRunFileReplaced(t *testing.T, b binary) {
	b, _ = runBinary(t, b)
	r := b.begin(t, "exec sleep 60", "--ttl", "12s")
	other := sqliteUser(t)
	other.must(t, "get", "job:nightly", "--operator", "asmith")
	file := pathOf(b.dsn)
	if err := errors.Join(os.Remove(file+"-wal"), os.Remove(file+"-shm"), os.Rename(pathOf(other.getenv(dsnVariable)), file)); err != nil {
		t.Fatal(err)
	}
	r.end(t, exitLost, "applockctl: run job:nightly: lock lost: held by asmith since ", "; killing the command")
}

// Goal: when this program is killed nothing goes on for long: Linux kills the command, the lock ends by itself, and who comes next
// has a greater fence. Method: SIGKILL, and a run that waits.
func testRunKilled(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	r := b.begin(t, "exec sleep 1000", "--ttl", "2s")
	former := nightlyOf(t, u)
	pid := testfile.Read(t, filepath.Join(b.directory, "began"))
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.end(t, -1)
	if runtime.GOOS == "linux" {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for exec.CommandContext(ctx, "kill", "-0", strings.TrimSpace(pid)).Run() == nil {
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		if ctx.Err() != nil {
			t.Error("the command goes on after the runner was killed")
		}
	}
	got := b.command(t.Context(), "run", "job:nightly", "--wait", "1m", "--", "sh", "-c", `echo "$APPLOCK_FENCE"`)
	got.Env = append(got.Env, "PATH="+os.Getenv("PATH"))
	output, err := got.Output()
	if err != nil {
		t.Fatal(err)
	}
	if fence, err := strconv.ParseInt(strings.TrimSpace(string(output)), 10, 64); err != nil || fence <= former.Fence {
		t.Errorf("the next run has fence %s, the former one had %d", output, former.Fence)
	}
}
