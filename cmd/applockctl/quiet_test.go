package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Goal: with --quiet cron sends no mail unless there is something to say. Method: the program as cron runs it, each answer
// yes and each answer no.
func testProcessQuiet(t *testing.T, b binary) {
	b.dsn = "sqlite:" + b.directory + "/applock.db"
	for _, test := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"migrate up", exitYes, "", ""},
		{"migrate up", exitYes, "", ""},
		{"get customer:42 --operator jdoe", exitYes, "", ""},
		{"get customer:42 --operator jdoe --output json", exitYes, "", ""},
		{"get customer:42 --operator asmith", exitNo, "HELD", ""},
		{"get customer:42 --operator asmith --wait 1s", exitNo, "HELD", ""},
		{"inquire customer:42", exitYes, "", ""},
		{"inquire customer:43", exitNo, "FREE", ""},
		{"list", exitYes, "customer:42", ""},
		{"list --operator JDOE", exitYes, "", ""},
		{"list --waiting", exitYes, "", ""},
		{"transfer customer:42 --from jdoe --to asmith --by boss", exitYes, "", ""},
		{"transfer customer:42 --from jdoe --to asmith --by boss", exitNo, "HELD", ""},
		{"release customer:42 --operator jdoe", exitNo, "HELD", ""},
		{"release customer:42 --operator asmith", exitYes, "", ""},
		{"renew customer:42 --operator asmith --fence 7", exitNo, "FREE", ""},
		{"get customer:42 --operator asmith --new", exitYes, "", ""},
		{"release customer:42 --operator asmith --fence 7", exitNo, "HELD", "(you) under another grant"},
		{"assert customer:42 --operator asmith --fence 7", exitNo, "HELD", "(you) under another grant"},
		{"migrate down", exitNo, "", "1 lock is live, and programs may be unable"},
		{"migrate down --force", exitYes, "", ""},
		{"migrate goto 2", exitYes, "", ""},
		{"migrate repair", exitYes, "", ""},
		{"purge", exitYes, "", ""},
		{"version", exitYes, "VERSION", ""},
		{"migrate status", exitYes, "VERSION", ""},
		{"get customer --operator jdoe", exitUsage, "", "applockctl: get: OBJECT"},
		{"--timeout 1s --dsn postgres://jdoe@127.0.0.1:1/crm purge", exitError, "", "applockctl: purge: "},
	} {
		got := b.run(t.Context(), append(strings.Fields(test.args), "--quiet")...)
		if got.code != test.code || !saysOnly(got.stdout, test.stdout) || !saysOnly(got.stderr, test.stderr) {
			t.Errorf("%s --quiet: exit code %d, stdout %q, stderr %q", test.args, got.code, got.stdout, got.stderr)
		}
	}
}

// saysOnly reports whether a text contains another one, or is empty where that is empty.
func saysOnly(text, want string) bool {
	return strings.Contains(text, want) && (text == "") == (want == "")
}

// Goal: tables have the time of where the reader is, --utc and JSON have not. Method: a zone that is half an hour off, as
// TZ names it.
func testProcessTimeZone(t *testing.T, b binary) {
	b.dsn = sqliteUser(t).getenv(dsnVariable)
	b.run(t.Context(), "get", "customer:42", "--operator", "jdoe").check(t, exitYes)
	kolkata := time.FixedZone("IST", 5*3600+1800)
	zone := "TZ=" + zoneFile(t, b.directory, "Asia/Kolkata")
	run := func(args ...string) string {
		command := b.command(t.Context(), args...)
		command.Env = append(command.Env, zone)
		output, err := command.CombinedOutput()
		if code := codeOf(err); code != exitYes && code != exitConflict {
			t.Fatal(err)
		}
		return string(output)
	}
	// The database has when: the same moment in each way of showing it.
	_, text, _ := strings.Cut(run("inquire", "customer:42", "--output", "json"), `"acquired_ts":"`)
	text, _, _ = strings.Cut(text, `"`)
	since, err := time.Parse(time.RFC3339, text)
	if err != nil || !strings.HasSuffix(text, "Z") {
		t.Fatalf("JSON has %s, %v", text, err)
	}
	for _, test := range []struct{ args, want string }{
		{"list", since.In(kolkata).Format("2006-01-02 15:04")},
		{"list --wide", since.In(kolkata).Format("2006-01-02 15:04:05 MST")},
		{"list --utc", since.UTC().Format("2006-01-02 15:04 UTC")},
		{"list --utc --wide", since.UTC().Format("2006-01-02 15:04:05 UTC")},
		{"inquire customer:42", since.In(kolkata).Format("2006-01-02 15:04")},
	} {
		if got := run(strings.Fields(test.args)...); !strings.Contains(got, "  "+test.want+"  ") {
			t.Errorf("%s lacks %s: %s", test.args, test.want, got)
		}
	}
	_, text, _ = strings.Cut(run("inquire", "customer:42", "--output", "json"), `"expires_ts":"`)
	expires, err := time.Parse(time.RFC3339, text[:strings.Index(text, `"`)])
	if err != nil {
		t.Fatal(err)
	}
	for args, zone := range map[string]*time.Location{"run customer:42 -- true": kolkata, "run customer:42 --utc -- true": time.UTC} {
		want := " until " + expires.Truncate(time.Second).In(zone).Format(time.RFC3339)
		if got := run(strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s: %s", args, want, got)
		}
	}
}

// zoneFile writes a time zone of the Go distribution to a file: a host need not have any.
func zoneFile(t *testing.T, directory, zone string) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	zones, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zones.Close() }()
	file, err := zones.Open(zone)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "zone")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
