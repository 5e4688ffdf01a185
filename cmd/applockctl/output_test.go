package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/testing/testfile"
)

func TestTimestamp(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	for _, test := range []struct {
		value time.Time
		json  string
	}{
		{time.Time{}, "null"},
		{time.Date(2026, 11, 27, 14, 14, 16, 5000, berlin), `"2026-11-27T13:14:16.000005Z"`},
		{time.Date(2026, 11, 27, 13, 14, 16, 0, time.UTC), `"2026-11-27T13:14:16.000000Z"`},
	} {
		encoded, err := json.Marshal(table.Timestamp(test.value))
		if err != nil || string(encoded) != test.json {
			t.Errorf("%s is %s: %v", test.value, encoded, err)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a":                        "a",
		"a\nb":                     "a b",
		"failed:\n\ta: x\r\n\tb\n": "failed: a: x b",
		"a  b\x1b[2J":              "a  b\ufffd[2J",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, exitYes},
		{&bodyError{err: errNo}, exitNo},
		{errors.New("unknown flag"), exitUsage},
		{&bodyError{err: fmt.Errorf("get: %w", &applock.InvalidError{})}, exitUsage},
		{&bodyError{err: fmt.Errorf("get: %w: %w", applock.ErrOutcomeUnknown, context.Canceled)}, exitUnknown},
		{&bodyError{err: applock.ErrSchema}, exitError},
		{&bodyError{err: applock.ErrBusy}, exitError},
		{&bodyError{err: &writeError{err: syscall.EPIPE}}, exitError},
		{&bodyError{err: errors.New("anything")}, exitError},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

// failingWriter is a full disk, or a reader that has left.
type failingWriter struct {
	err error
	// ends is called at the first write; it may be nil.
	ends func()
}

func (w failingWriter) Write([]byte) (int, error) {
	if w.ends != nil {
		w.ends()
	}
	return 0, w.err
}

// withEffect and withoutAny are command lines. A line without an effect stands for a command of the other list where only some answers have one.
func withEffect() []string {
	return []string{
		"get customer:44 --operator jdoe", "get desk:1 --operator jdoe --permits 2", "renew customer:42 --operator jdoe --fence FENCE --ttl 1000d",
		"release customer:42 customer:43 customer:44 --operator jdoe", "release --all --operator jdoe --by boss --reason left",
		"note customer:42 why --operator jdoe", "see customer:42 --operator asmith", "ask customer:43 --operator brown",
		"answer customer:42 --operator jdoe --fence FENCE --asker brown --later",
		"transfer customer:42 --from jdoe --to asmith --by boss", "transfer --all --from jdoe --to asmith --by boss --reason left",
		"take customer:42 --operator asmith --reason ill", "inbox --operator jdoe", // what an inbox shows counts as shown
		"policy set order --by mlee", "policy drop customer --by mlee", "purge", "purge-history --older-than 1s",
		"migrate up", "migrate down --force", "migrate goto 0 --force", "migrate uninstall --yes --force",
	}
}

func withoutAny() []string {
	return []string{
		"get customer:42 --operator asmith", "get customer:42 --operator jdoe --new", "renew customer:42 --operator jdoe --fence 1",
		"release customer:42 customer:43 --operator asmith", "release --all --operator jdoe --by boss --reason left --dry-run",
		"transfer --all --from jdoe --to asmith --by boss --reason left --dry-run", "policy drop order --by mlee",
		"assert customer:42 --operator jdoe --fence FENCE", "inquire customer:42", "asking", "list", "list --waiting", "list --output json",
		"stats", "stats --output prometheus", "history", "viewers", "policy list", "watch --output json", "console --listen 127.0.0.1:0",
		"migrate status", "migrate print", "migrate print --summary", "verify --look-only", "demo", "demo --output json", "ping", "version",
		"guard print --dialect postgres --table crm.document --type document --id-column id",
		"grant --to cron --as janitor --print --dialect postgres", "--version", "--help", "completion bash",
	}
}

// Goal: a result that cannot be printed has exit code 4 only if nothing was changed. Otherwise it is 3, and stderr tells the answer, also when
// the reader has left. Method: each command of the tree on a full disk and in front of a reader that has left. A copy of the database before
// and after says whether there was an effect.
func TestResultCannotBePrinted(t *testing.T) {
	t.Parallel()
	played := map[string]string{
		" run": "prints nothing itself", " migrate repair": "TestGrantNeedsTheOwner, on a server", " grant": "the same", " revoke": "the same",
	}
	for i, args := range slices.Concat(withEffect(), withoutAny()) {
		command, _, err := newTree().Find(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		played[command.CommandPath()[len(program):]] = args
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			for _, failure := range []error{errors.New("disk full"), syscall.EPIPE} {
				u := userOfEverything(t)
				words := strings.Fields(strings.ReplaceAll(args, "FENCE", fenceOf(t, u, "customer:42")))
				if args == "migrate up" {
					u.must(t, "migrate", "uninstall", "--yes", "--force")
				}
				before := contentOf(t, u)
				u.checkUnprinted(t, failure, i < len(withEffect()), words...)
				if changed := contentOf(t, u) != before; changed != (i < len(withEffect())) {
					t.Errorf("it has changed the database: %v", changed)
				}
			}
		})
	}
	for _, command := range ownCommands(newTree()) {
		name := strings.TrimPrefix(command.CommandPath(), program)
		if played[name] == "" && !command.HasSubCommands() {
			t.Errorf("no line has%s", name)
		}
	}
}

// checkUnprinted runs a command whose output fails, and checks its exit code and what it tells.
func (u user) checkUnprinted(t *testing.T, failure error, hasEffect bool, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := failingWriter{err: failure}
	if args[0] == "console" {
		stdout.ends = cancel // it serves until it is ended
	}
	var stderr strings.Builder
	code := run(ctx, args, stdout, &stderr, u.getenv)
	isTold := strings.Contains(stderr.String(), "print the result: "+failure.Error())
	switch {
	case hasEffect && (code != exitUnknown || !isTold || !strings.Contains(stderr.String(), "; the call has had its effect")),
		!hasEffect && (code != exitError || isTold == errors.Is(failure, syscall.EPIPE)):
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// userOfEverything returns the user of a database where each command finds something to do.
func userOfEverything(t *testing.T) user {
	t.Helper()
	u := sqliteUser(t)
	addFreeRows(t, u, 2)
	for _, args := range []string{
		"policy set customer --by mlee --yield-after 30m", "get customer:42 --operator jdoe", "get customer:43 --operator jdoe",
		"ask customer:42 --operator brown",
	} {
		u.must(t, strings.Fields(args)...)
	}
	withFile(t, u, func(exec func(statement string)) { exec("UPDATE appl_lock_event SET event_ts = 0") })
	return u
}

// contentOf returns a copy of a database file, without the counters in its header.
func contentOf(t *testing.T, u user) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy")
	withFile(t, u, func(exec func(statement string)) { exec("VACUUM INTO '" + file + "'") })
	return testfile.Read(t, file)[100:]
}

// Goal: --utc changes the zone of tables, and of the words of run. Method: a lock, whose times JSON has.
func TestUTC(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	var lock struct {
		Since, Until time.Time
	}
	times := timeOfJSON.FindAllString(u.must(t, "inquire", "customer:42", "--output", "json").stdout, -1)
	for i, at := range []*time.Time{&lock.Since, new(time.Time), &lock.Until} {
		parsed, err := time.Parse(time.RFC3339Nano, times[i])
		if err != nil {
			t.Fatal(err)
		}
		*at = parsed
	}
	for command, want := range map[string]string{
		"list":                          lock.Since.In(time.Local).Format("2006-01-02 15:04"),
		"list --utc":                    lock.Since.UTC().Format("2006-01-02 15:04 UTC"),
		"list --utc --wide":             lock.Since.UTC().Format("2006-01-02 15:04:05 UTC"),
		"run customer:42 -- true":       " until " + lock.Until.Truncate(time.Second).In(time.Local).Format(time.RFC3339),
		"run customer:42 --utc -- true": " until " + lock.Until.Truncate(time.Second).UTC().Format(time.RFC3339),
	} {
		if got := u.run(t, strings.Fields(command)...); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s lacks %s: %s%s", command, want, got.stdout, got.stderr)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if isTerminal(file) || isTerminal(io.Discard) {
		t.Error("a file is no terminal")
	}
}
