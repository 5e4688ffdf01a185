package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// addFreeRows adds rows of objects that have been free since 1970.
func addFreeRows(t *testing.T, u user, rows int) {
	t.Helper()
	withFile(t, u, func(exec func(statement string)) {
		exec(fmt.Sprintf(`
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO appl_lock SELECT 'customer', i, 'jdoe', '', 1, 0, 0, 60, 1, '', 'N', NULL FROM n`, rows))
	})
}

// watcher is a terminal.
type watcher struct {
	bytes.Buffer
	onWrite func()
}

func (w *watcher) Write(text []byte) (int, error) {
	if w.onWrite != nil {
		w.onWrite()
	}
	return w.Buffer.Write(text)
}

func (u user) watch(ctx context.Context, onWrite func(), args ...string) result {
	var stdout bytes.Buffer
	stderr := &watcher{onWrite: onWrite}
	a := &app{stdout: &stdout, stderr: stderr, getenv: u.getenv, terminal: true}
	code := a.run(ctx, args)
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

func TestPurgeShowsProgress(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	addFreeRows(t, u, 25)
	got := u.watch(t.Context(), nil, "purge", "--batch", "10")
	if got.code != exitYes || got.stdout != "PURGED\n25\n" {
		t.Errorf("exit code %d: %s", got.code, got.stdout)
	}
	want := "\rpurged 10 rows...\rpurged 20 rows...\rpurged 25 rows...\r" + strings.Repeat(" ", len("purged 25 rows...")) + "\r"
	if got.stderr != want {
		t.Errorf("the terminal shows %q, want %q", got.stderr, want)
	}
}

func TestPurgeIsSilentWithoutTerminal(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	addFreeRows(t, u, 25)
	u.must(t, "get", "customer:live", "--operator", "jdoe")
	got := u.must(t, "purge", "--batch", "10", "--output", "json")
	if got.stdout != `{"outcome":"PURGED","purged":25}`+"\n" || got.stderr != "" {
		t.Errorf("%q and %q", got.stdout, got.stderr)
	}
	u.must(t, "inquire", "customer:live")
}

// An object that has been free for a shorter time keeps its row, and with it its fence.
func TestPurgeAge(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	u.must(t, "release", "customer:42", "--operator", "jdoe")
	for _, args := range []string{"purge", "purge --older-than 1d12h", "purge --older-than 1h --batch 1"} {
		if got := u.must(t, strings.Fields(args)...); got.stdout != "PURGED\n0\n" {
			t.Errorf("%s: %s", args, got.stdout)
		}
	}
}

// What was purged before Ctrl-C stays purged, and is told.
func TestPurgeInterrupted(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	addFreeRows(t, u, 25)
	ctx, interrupt := context.WithCancel(t.Context())
	got := u.watch(ctx, interrupt, "purge", "--batch", "10")
	_, last, _ := strings.Cut(got.stderr, strings.Repeat(" ", len("purged 10 rows..."))+"\r")
	if got.code != exitInterrupted || got.stdout != "" || last != "applockctl: purge: interrupted (10 rows purged before)\n" {
		t.Errorf("exit code %d: %q and %q", got.code, got.stdout, got.stderr)
	}
	if got := u.must(t, "purge"); got.stdout != "PURGED\n15\n" {
		t.Errorf("the next purge: %s", got.stdout)
	}
}
