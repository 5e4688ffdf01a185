package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testfile"
)

// result is what a run of the program leaves behind.
type result struct {
	code   int
	stdout string
	stderr string
}

// user is somebody in front of a shell, with an environment of his own.
type user struct {
	environment map[string]string
}

// sqliteUser returns a user of a new database file in which applock is installed.
func sqliteUser(t *testing.T) user {
	t.Helper()
	return userOf("sqlite:" + testclient.InstalledSQLite(t))
}

// fileUser returns a user of a database file that does not exist yet.
func fileUser(t *testing.T) user {
	t.Helper()
	return userOf("sqlite:" + filepath.Join(t.TempDir(), "applock.db"))
}

func userOf(dsn string) user {
	return user{environment: map[string]string{dsnVariable: dsn}}
}

func (u user) getenv(name string) string { return u.environment[name] }

func (u user) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.runContext(t.Context(), args...)
}

func (u user) runContext(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, patient(args), &stdout, &stderr, u.getenv)
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// patient has a call wait for a busy machine. A --timeout among the arguments counts more, since it comes later.
func patient(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "__complete") {
		return args
	}
	return append([]string{"--timeout", "2m"}, args...)
}

// must runs a command whose answer is yes.
func (u user) must(t *testing.T, args ...string) result {
	t.Helper()
	got := u.run(t, args...)
	if got.code != exitYes {
		t.Fatalf("applockctl %s: exit code %d, stderr: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got
}

// check compares an exit code, and looks for texts in the line on stderr.
func (r result) check(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; stdout: %s; stderr: %s", r.code, code, r.stdout, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("stderr lacks %q: %s", text, r.stderr)
		}
	}
	if code < exitUsage {
		return
	}
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	for _, help := range []string{"Run 'applockctl ", "Did you mean this? "} {
		if last := len(lines) - 1; code == exitUsage && last > 0 && strings.HasPrefix(lines[last], help) {
			lines = lines[:last]
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "applockctl: ") {
		t.Errorf("an error shall be told in one line: %q", r.stderr)
	}
}

// withoutNotice drops the line that tells where a demo plays.
func (r result) withoutNotice() result {
	if notice, rest, found := strings.Cut(r.stderr, "\n"); found && strings.HasPrefix(notice, "The demo plays") {
		r.stderr = rest
	}
	return r
}

var (
	timeOfTable = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d \S+)?`)
	leftOfTable = regexp.MustCompile(`  \d+[dhms](\d+[hm])?( |\n)`)
	gapOfTable  = regexp.MustCompile(`  +`)
	timeOfJSON  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`)
	secondsLeft = regexp.MustCompile(`"seconds_left":[1-9]\d*`)
	fenceDigits = regexp.MustCompile(`\b\d{16}\b`)
)

// normalise replaces what differs from run to run. Columns are two blanks apart then, whatever was in them.
func normalise(text string) string {
	text = timeOfTable.ReplaceAllString(text, "<time>")
	text = gapOfTable.ReplaceAllString(leftOfTable.ReplaceAllString(text, "  <left>$2"), "  ")
	text = timeOfJSON.ReplaceAllString(text, "yyyy-mm-ddThh:mm:ss.ffffffZ")
	text = secondsLeft.ReplaceAllString(text, `"seconds_left":<seconds>`)
	return fenceDigits.ReplaceAllString(text, "<fence>")
}

// golden compares with a file in testdata, which APPLOCK_UPDATE_GOLDEN=1 rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != testfile.Read(t, path) {
		t.Errorf("differs from %s; if that is intended, run `make golden`\n--- got\n%s", path, got)
	}
}
