package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/testdb"
)

var (
	demoSchema   = regexp.MustCompile(`--schema applock_demo_[0-9a-f]{16} `)
	stepOfTable  = regexp.MustCompile(`(?m)^(\d+ +\d{5}_\w+\.sql .*\n)+`)
	stepsOfJSON  = regexp.MustCompile(`(\{"version":\d+,"name":"\d{5}_\w+\.sql","applied_at":"[^"]*"\},?)+`)
	schemaNotice = regexp.MustCompile(`^The demo plays in a schema of its own, and removes it at the end: applock_demo_[0-9a-f]{16}\n$`)
	fileNotice   = regexp.MustCompile(`^The demo plays in a file of its own, and removes it at the end: APPLOCK_DSN=sqlite:/.*\n$`)
)

// checkDemo compares a run of the demo with the story, which is the same on all dialects.
func checkDemo(t *testing.T, output string, got result, notice *regexp.Regexp) {
	t.Helper()
	got.check(t, exitYes)
	if !notice.MatchString(got.stderr) {
		t.Errorf("stderr: %s", got.stderr)
	}
	text := demoSchema.ReplaceAllString(got.stdout, "")
	text = stepOfTable.ReplaceAllString(text, "<steps>\n")
	text = stepsOfJSON.ReplaceAllString(text, "<steps>")
	golden(t, "demo_"+output+".golden", normalise(text))
}

// noFilesLeft makes the directory of temporary files one that must be empty at the end. The test cannot
// be parallel then.
func noFilesLeft(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	t.Cleanup(func() {
		entries, err := os.ReadDir(directory)
		if err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v %v", entries, err)
		}
	})
}

func TestDemo(t *testing.T) {
	for _, output := range []string{"table", "json"} {
		t.Run(output, func(t *testing.T) {
			noFilesLeft(t)
			begin := time.Now()
			checkDemo(t, output, userOf("").run(t, "demo", "--output", output), fileNotice)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("the demo took %s", took)
			}
		})
	}
}

// A file that the user has named is not touched either.
func TestDemoOnANamedFile(t *testing.T) {
	noFilesLeft(t)
	u := sqliteUser(t)
	checkDemo(t, "table", u.run(t, "demo"), fileNotice)
	if path := strings.TrimPrefix(u.getenv(dsnVariable), "sqlite:"); fileExists(path) {
		t.Errorf("%s was made", path)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Ctrl-C at any time leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	noFilesLeft(t)
	for _, step := range []string{`"step":1,`, `"step":2,`, `"step":9,`, `"step":12,`} {
		ctx, interrupt := context.WithCancel(t.Context())
		got := demoUntil(ctx, userOf(""), step, interrupt)
		if step == `"step":12,` {
			continue // too late, or just in time
		}
		if got.code != exitError || !strings.HasSuffix(got.stderr, "applockctl: demo: interrupted\n") {
			t.Errorf("interrupted at %s: exit code %d: %s", step, got.code, got.stderr)
		}
	}
}

// demoUntil runs the demo and calls do when its output has reached the text.
func demoUntil(ctx context.Context, u user, text string, do func()) result {
	var stderr strings.Builder
	trigger := &triggerWriter{text: text, do: do}
	code := run(ctx, []string{"demo", "--output", "json"}, trigger, &stderr, u.getenv)
	return result{code: code, stdout: trigger.written.String(), stderr: stderr.String()}
}

// triggerWriter calls do when a text is written.
type triggerWriter struct {
	text    string
	do      func()
	written strings.Builder
}

func (w *triggerWriter) Write(text []byte) (int, error) {
	if strings.Contains(string(text), w.text) {
		w.do()
	}
	return w.written.Write(text)
}

// The story is true: the fences grow from grant to grant.
func TestDemoFences(t *testing.T) {
	t.Parallel()
	fences := map[int]int64{}
	for line := range strings.Lines(userOf("").must(t, "demo", "--output", "json").stdout) {
		var step struct {
			Step     int    `json:"step"`
			Text     string `json:"text"`
			Command  string `json:"command"`
			ExitCode int    `json:"exit_code"`
			Answers  []struct {
				Fence int64 `json:"fence"`
			} `json:"answers"`
		}
		if err := json.Unmarshal([]byte(line), &step); err != nil || step.Text == "" || len(step.Answers) == 0 {
			t.Fatalf("%v: %s", err, line)
		}
		fences[step.Step] = step.Answers[0].Fence
	}
	if fences[2] != fences[4] || fences[6] <= fences[4] || fences[10] <= fences[9] || fences[9] == 0 {
		t.Errorf("fences by step: %v", fences)
	}
}

func TestDemoOnPostgres(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"table", "json"} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.Postgres(t)
			before := schemas(t, dsn)
			u, flags := userOf(dsn), []string{}
			if output == "json" {
				u, flags = userOf(""), []string{"--dsn", dsn}
			}
			checkDemo(t, output, u.run(t, append(flags, "demo", "--output", output)...), schemaNotice)
			checkSchemas(t, dsn, before)
		})
	}
}

func TestDemoOnPostgresInterrupted(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	before := schemas(t, dsn)
	for _, step := range []string{`"step":1,`, `"step":5,`, `"step":9,`} {
		ctx, interrupt := context.WithCancel(t.Context())
		got := demoUntil(ctx, userOf(dsn), step, interrupt)
		if got.code != exitError || !strings.HasSuffix(got.stderr, "applockctl: demo: interrupted\n") {
			t.Errorf("interrupted at %s: exit code %d: %s", step, got.code, got.stderr)
		}
		checkSchemas(t, dsn, before)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt() // before the beginning
	userOf(dsn).runContext(interrupted, "demo").withoutNotice().check(t, exitError, "demo: interrupted")
	checkSchemas(t, dsn, before)
}

// schemas returns the schemas of a database.
func schemas(t *testing.T, dsn string) string {
	t.Helper()
	return queryText(t, dsn, "SELECT coalesce(string_agg(nspname, ' ' ORDER BY nspname), '') FROM pg_namespace")
}

func checkSchemas(t *testing.T, dsn, want string) {
	t.Helper()
	if got := schemas(t, dsn); got != want {
		t.Errorf("the schemas were %s and are %s", want, got)
	}
	if got := queryText(t, dsn, "SELECT count(*)::text FROM pg_class WHERE relname = 'appl_lock'"); got != "0" {
		t.Errorf("%s tables appl_lock are left", got)
	}
}

// queryText returns the one text that a query answers.
func queryText(t *testing.T, dsn, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var text string
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	return text
}
