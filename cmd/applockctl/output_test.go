package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
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
		encoded, err := json.Marshal(timestamp(test.value))
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
		{&bodyError{errNo}, exitNo},
		{errors.New("unknown flag"), exitUsage},
		{&bodyError{fmt.Errorf("get: %w", &applock.InvalidError{})}, exitUsage},
		{&bodyError{fmt.Errorf("get: %w: %w", applock.ErrOutcomeUnknown, context.Canceled)}, exitUnknown},
		{&bodyError{applock.ErrSchema}, exitError},
		{&bodyError{&writeError{syscall.EPIPE}}, exitError},
		{&bodyError{errors.New("anything")}, exitError},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

// failingWriter is a full disk, or a reader that has left.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A result that cannot be printed is an error, whatever it was. A reader that has left hears nothing.
func TestResultCannotBePrinted(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	for _, args := range []string{
		"get customer:42 --operator jdoe", "get customer:42 --operator asmith", "inquire customer:42", "list", "purge",
		"transfer customer:42 --from a --to b --by boss", "release customer:42 --operator asmith", "version", "migrate status",
		"migrate print", "demo",
		"get customer:42 --operator jdoe --output json", "list --output json", "demo --output json",
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(args), failingWriter{errors.New("disk full")}, &stderr, u.getenv)
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if last := lines[len(lines)-1]; code != exitError || !strings.HasSuffix(last, "print the result: disk full") {
			t.Errorf("%s: exit code %d: %s", args, code, last)
		}
		stderr.Reset()
		code = run(t.Context(), strings.Fields(args), failingWriter{syscall.EPIPE}, &stderr, u.getenv)
		if code != exitError || strings.Contains(stderr.String(), "applockctl: ") {
			t.Errorf("%s: exit code %d: %s", args, code, stderr.String())
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
