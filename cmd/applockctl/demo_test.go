package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var (
	demoName     = regexp.MustCompile(`applock_demo_[0-9a-f]{16}`)
	demoSchema   = regexp.MustCompile(`--schema applock_demo_[0-9a-f]{16} `)
	stepOfTable  = regexp.MustCompile(`(?m)^(\d+ +\d{5}_\w+\.sql .*\n)+`)
	stepsOfJSON  = regexp.MustCompile(`(\{"outcome":"APPLIED","version":\d+,"name":"\d{5}_\w+\.sql","applied_ts":"[^"]*","problem":""\},?)+`)
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
			checkDemo(t, output, userOf("").run(t, "demo", "--output", output), fileNotice)
		})
	}
}

// A file that the user has named is not touched either.
func TestDemoOnANamedFile(t *testing.T) {
	noFilesLeft(t)
	u := fileUser(t)
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
		if got.code != exitInterrupted || !strings.HasSuffix(got.stderr, "applockctl: demo: interrupted\n") {
			t.Errorf("interrupted at %s: exit code %d: %s", step, got.code, got.stderr)
		}
	}
}

// A reader who leaves ends the demo, which cleans up.
func TestDemoReaderLeaves(t *testing.T) {
	noFilesLeft(t)
	userOf("").checkUnprinted(t, syscall.EPIPE, false, "demo", "--timeout", "10m")
}

// demoUntil runs the demo and calls do when its output has reached the text.
func demoUntil(ctx context.Context, u user, text string, do func()) result {
	var stderr strings.Builder
	trigger := &triggerWriter{text: text, do: do}
	code := run(ctx, []string{"demo", "--output", "json", "--timeout", "10m"}, trigger, &stderr, u.getenv)
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

// Goal: on a server the same story, which leaves nothing behind. Method: on each product compare what is in
// the database before and after, and look for the schema that the demo names.
func TestHeavyDemoOnServers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		for _, output := range []string{"table", "json"} {
			before := s.contents(t, dsn)
			u, flags := userOf(dsn), []string{}
			if output == "json" {
				u, flags = userOf(""), []string{"--dsn", dsn}
			}
			got := u.run(t, append(flags, "demo", "--timeout", "10m", "--output", output)...)
			checkDemo(t, output, got, schemaNotice)
			s.checkNoDemo(t, dsn, before, got.stderr)
		}
	})
}

// Goal: Ctrl-C at any time leaves nothing behind. Method: press it in the middle of several steps, and
// before the first.
func TestHeavyDemoOnServersInterrupted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		before := s.contents(t, dsn)
		for _, step := range []string{`"step":1,`, `"step":5,`, `"step":9,`} {
			ctx, interrupt := context.WithCancel(t.Context())
			got := demoUntil(ctx, userOf(dsn), step, interrupt)
			if got.code != exitInterrupted || !strings.HasSuffix(got.stderr, "applockctl: demo: interrupted\n") {
				t.Errorf("interrupted at %s: exit code %d: %s", step, got.code, got.stderr)
			}
			s.checkNoDemo(t, dsn, before, got.stderr)
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		interrupt() // before the beginning
		got := userOf(dsn).runContext(interrupted, "demo", "--timeout", "10m")
		got.check(t, exitInterrupted, "demo: interrupted")
		if after := s.contents(t, dsn); after != before {
			t.Errorf("the database had %s and has %s", before, after)
		}
	})
}

// checkNoDemo checks that the schema that a demo has named is gone, and that nothing else has changed.
func (s server) checkNoDemo(t *testing.T, dsn, before, notice string) {
	t.Helper()
	name := demoName.FindString(notice)
	if name == "" || s.hasSchema(t, dsn, name) {
		t.Errorf("the schema %q is left: %s", name, notice)
	}
	if after := s.contents(t, dsn); after != before {
		t.Errorf("the database had %s and has %s", before, after)
	}
}
