package main

import (
	"strings"
	"testing"
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
