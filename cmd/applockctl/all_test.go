package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
)

// Goal: transfer, release and inquire take several objects, answer each on a line of its own, in order, and exit with the worst
// answer; what cannot be read stops them before anything is done. Method: all three, with answers of both kinds.
func TestSeveralObjects(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "order:1", "--operator", "jdoe")
	u.must(t, "get", "order:2", "--operator", "jdoe")
	u.must(t, "get", "order:3", "--operator", "asmith")
	for _, test := range []struct {
		command string
		code    int
		want    string
	}{
		{"inquire order:1 order:3", exitYes, "HELD order:1 HELD order:3"},
		{"inquire order:1 order:9 order:3", exitNo, "HELD order:1 FREE order:9 HELD order:3"},
		{"transfer order:1 order --from jdoe --to mlee --by boss", exitUsage, ""},
		{"transfer order:2 order:3 order:1 --from jdoe --to mlee --by boss", exitNo, "TRANSFERRED order:2 HELD order:3 TRANSFERRED order:1"},
		{"transfer order:2 order:1 --from jdoe --to mlee --by boss --quiet", exitNo, "HELD order:2 HELD order:1"},
		{"transfer order:2 order:1 --from mlee --to mlee --by boss", exitUsage, ""},
		{"transfer --all --from mlee --to mlee --by boss --reason r", exitUsage, ""},
		{"release order:1 order:2 --operator mlee --fence 1", exitUsage, ""},
		{"release order:1 order:3 order:9 --operator mlee", exitNo, "RELEASED order:1 HELD order:3 FREE order:9"},
		{"release order:1 order:2 order:9 --operator mlee", exitYes, "FREE order:1 RELEASED order:2 FREE order:9"},
		{"release --operator mlee", exitUsage, ""},
		{"inquire", exitUsage, ""},
	} {
		got := u.run(t, append(strings.Fields(test.command), "--output", "json")...)
		if told := outcomes(t, got.stdout); got.code != test.code || told != test.want {
			t.Errorf("%s: exit code %d, %q; want %d, %q; stderr: %s", test.command, got.code, told, test.code, test.want, got.stderr)
		}
	}
}

// jsonRows reads lines of JSON.
func jsonRows(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	for line := range strings.Lines(stdout) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// outcomes are the outcomes and objects of lines of JSON.
func outcomes(t *testing.T, stdout string) string {
	t.Helper()
	var told []string
	for _, row := range jsonRows(t, stdout) {
		told = append(told, fmt.Sprintf("%s %s:%s", row["outcome"], row["object_type"], row["object_id"]))
	}
	return strings.Join(told, " ")
}

// Goal: --all hands over and releases what an operator holds, says how many that were, and is told why. Method: a desk that is
// looked at, handed over and released; then what is refused.
func TestAll(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for _, object := range []string{"order:1", "order:2", "parcel:1"} {
		u.must(t, "get", object, "--operator", "jdoe", "--department", "cs", "--ttl", "1d")
	}
	transfer := []string{"transfer", "--all", "--from", "jdoe", "--to", "asmith", "--by", "mlee", "--reason", "jdoe has left"}
	dry := u.must(t, append(transfer, "--dry-run", "--output", "json")...)
	if told := outcomes(t, dry.stdout); told != "WOULD_TRANSFER order:1 WOULD_TRANSFER order:2 WOULD_TRANSFER parcel:1" {
		t.Error(told)
	}
	if row := jsonRows(t, dry.stdout)[0]; row["holder_id"] != "jdoe" || row["former_holder_id"] != "" || row["seconds_left"] == 0.0 {
		t.Errorf("a dry run tells %v", row)
	}
	u.must(t, append(transfer, "--dry-run")...).check(t, exitYes, "3 locks would be transferred")
	u.must(t, append(transfer, "--type", "parcel")...).check(t, exitYes, "1 lock transferred")
	all := u.must(t, append(transfer, "--output", "json")...)
	if row := jsonRows(t, all.stdout)[0]; row["holder_id"] != "asmith" || row["operator_id"] != "asmith" || row["former_holder_id"] != "jdoe" {
		t.Errorf("a transfer tells %v", row)
	}
	u.must(t, transfer...).check(t, exitYes, "0 locks transferred")
	const wrongCase = "but for asmith: upper and lower case are different operators"
	u.run(t, "transfer", "--all", "--from", "ASMITH", "--to", "JDOE", "--by", "MLEE", "--reason", "ill").check(t, exitNo, wrongCase)
	u.run(t, "release", "--all", "--operator", "ASMITH", "--by", "MLEE", "--reason", "ill").check(t, exitNo, wrongCase)
	if got := u.must(t, append(transfer, "--quiet")...); got.stdout+got.stderr != "" {
		t.Errorf("--quiet prints %q and %q", got.stdout, got.stderr)
	}
	if history := u.must(t, "history", "--operator", "mlee").stdout; strings.Count(history, "jdoe has left") != 3 {
		t.Errorf("the history has\n%s", history)
	}
	release := []string{"release", "--all", "--operator", "asmith", "--by", "boss", "--reason", "nobody does it"}
	u.must(t, append(release, "--dry-run")...).check(t, exitYes, "3 locks would be released")
	released := u.must(t, append(release, "--type", "order", "--output", "json")...)
	if told := outcomes(t, released.stdout); told != "RELEASED order:1 RELEASED order:2" {
		t.Error(told)
	}
	u.must(t, release...).check(t, exitYes, "1 lock released")
	for _, args := range [][]string{
		append(transfer, "order:1"), append(release, "order:1"), append(release, "--fence", "1"),
		{"transfer", "--all", "--from", "jdoe", "--to", "asmith", "--by", "boss"}, {"release", "--all", "--operator", "jdoe", "--by", "boss", "--reason", " "},
		{"release", "--all", "--operator", "jdoe", "--reason", "left"}, {"transfer", "--all", "--from", "jdoe", "--to", "asmith", "--reason", "left"},
		{"release", "order:1", "--operator", "jdoe", "--dry-run"}, {"transfer", "order:1", "--from", "jdoe", "--to", "mlee", "--by", "boss", "--type", "order"},
	} {
		if got := u.run(t, args...); got.code != exitUsage || got.stdout != "" {
			t.Errorf("%q: exit code %d, %s", args, got.code, got.stdout)
		}
	}
}

// Goal: what could not be changed is told and counted, and is the answer no. Method: the rows as a server answers them, whose
// other sessions SQLite has not; the interleavings have the server.
func TestAllTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	jdoe := applock.Owner{Operator: "jdoe"}
	for name, test := range map[string]struct {
		outcomes []applock.Outcome
		err      error
		want     string
	}{
		"busy": {
			[]applock.Outcome{applock.OutcomeReleased, applock.OutcomeBusy, applock.OutcomeHeld},
			errNo, "1 lock released, 1 BUSY, 1 HELD; the same command tries again what was busy\n",
		},
		"free": {[]applock.Outcome{applock.OutcomeFree}, nil, "0 locks released, 1 FREE\n"},
	} {
		var stdout, stderr bytes.Buffer
		u := sqliteUser(t)
		a := &app{stdout: &stdout, stderr: &stderr, getenv: u.getenv, output: formatTable, timeout: duration(defaultTimeout)}
		a.rootCommand()
		err := a.changeAll(t.Context(), "release --all", "released", applock.ListRequest{}, lockAnswer{},
			func(change applock.LockChange) record { return changedLock(change, jdoe) },
			func(context.Context, session, applock.Object) (changes []applock.LockChange, err error) {
				for _, outcome := range test.outcomes {
					changes = append(changes, applock.LockChange{Object: applock.Object{Type: "order", ID: "1"}, Outcome: outcome})
				}
				return changes, nil
			})
		if !errors.Is(err, test.err) || stderr.String() != test.want {
			t.Errorf("%s: %v, %q", name, err, stderr.String())
		}
		for _, outcome := range test.outcomes {
			if !strings.Contains(stdout.String(), string(outcome)) {
				t.Errorf("%s: %s is not told:\n%s", name, outcome, stdout.String())
			}
		}
	}
}

// interruptingWriter ends a context when something is written.
type interruptingWriter struct {
	text      strings.Builder
	interrupt context.CancelFunc
}

func (w *interruptingWriter) Write(text []byte) (int, error) {
	w.interrupt()
	return w.text.Write(text)
}

// Goal: Ctrl-C ends a long change between two pages: what is done is printed and told, and the same command goes on. Method: the
// signal comes with the first output, of more locks than a page.
func TestAllIsInterruptedBetweenPages(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
			INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, note)
			SELECT 'order', printf('%04d', i), 'jdoe', '', i, unixepoch() * 1000000, unixepoch() * 1000000, 3600, (unixepoch() + 3600) * 1000000, '' FROM n`)
	})
	for _, output := range []string{"table", "json"} {
		ctx, interrupt := context.WithCancel(t.Context())
		stdout, stderr := &interruptingWriter{interrupt: interrupt}, &bytes.Buffer{}
		args := []string{"transfer", "--all", "--from", "jdoe", "--to", "asmith", "--by", "boss", "--reason", "left", "--timeout", "10m", "--output", output}
		code := run(ctx, args, stdout, stderr, u.getenv)
		interrupt()
		if code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted (1000 locks transferred before, the last one order:1000; repeat the command to go on)") {
			t.Errorf("%s: exit code %d, stderr %q", output, code, stderr)
		}
		if rows := strings.Count(stdout.text.String(), "TRANSFERRED"); rows != 1000 {
			t.Errorf("%s: %d rows are printed, want the 1000 of the page", output, rows)
		}
		u.must(t, slices.Concat(args[:len(args)-1], []string{"table"})...).check(t, exitYes, "500 locks transferred")
		u.must(t, "transfer", "--all", "--from", "asmith", "--to", "jdoe", "--by", "boss", "--reason", "back", "--timeout", "10m", "--quiet")
	}
}
