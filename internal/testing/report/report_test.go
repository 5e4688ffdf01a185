package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tested is what a report shows of the lines of go test -json.
func tested(expected int, lines ...string) (*report, string) {
	var shown strings.Builder
	r := newReport(&shown, expected)
	for _, line := range lines {
		r.line([]byte(line + "\n"))
	}
	r.summary("sqlite (embedded); postgres 15.18 (private)")
	return r, shown.String()
}

func wantAll(t *testing.T, shown string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(shown, part) {
			t.Errorf("the report lacks %q:\n%s", part, shown)
		}
	}
}

// Goal: packages are shown with a count as they end, and the table says how long each took and how many tests passed,
// failed and were skipped, on which servers. Method: two packages at a time, one without tests beside them.
func TestReportCountsPackagesAndTests(t *testing.T) {
	t.Parallel()
	r, shown := tested(2,
		`{"Action":"start","Package":"github.com/applock/applock/a"}`,
		`{"Action":"start","Package":"github.com/applock/applock/b"}`,
		`{"Action":"run","Package":"github.com/applock/applock/a","Test":"TestOne"}`,
		`{"Action":"output","Package":"github.com/applock/applock/a","Test":"TestOne","Output":"chatter\n"}`,
		`{"Action":"pass","Package":"github.com/applock/applock/a","Test":"TestOne","Elapsed":1.5}`,
		`{"Action":"run","Package":"github.com/applock/applock/b","Test":"TestSkipped"}`,
		`{"Action":"output","Package":"github.com/applock/applock/b","Test":"TestSkipped","Output":"    b_test.go:7: no server: start one\n"}`,
		`{"Action":"skip","Package":"github.com/applock/applock/b","Test":"TestSkipped","Elapsed":0}`,
		`{"Action":"pass","Package":"github.com/applock/applock/b","Elapsed":0.5}`,
		`{"Action":"skip","Package":"github.com/applock/applock/empty","Elapsed":0}`,
		`{"Action":"pass","Package":"github.com/applock/applock/a","Elapsed":2}`,
	)
	wantAll(t, shown,
		"[1/2] ok   b 0.5 s (0 passed, 0 failed, 1 skipped)\n",
		"[2/2] ok   a 2.0 s (1 passed, 0 failed, 0 skipped)\n",
		"     2.0       1       0        0  a\n",
		"     1.5  a TestOne\n",
		"       1  no server: start one\n",
		"ran on:\n  sqlite (embedded)\n  postgres 15.18 (private)\n",
		"2 of 2 packages in ",
	)
	if strings.Contains(shown, "chatter") {
		t.Errorf("the output of a test that passed is shown:\n%s", shown)
	}
	if got := r.tally(); got != "1 passed, 0 failed, 1 skipped" {
		t.Errorf("tally %q", got)
	}
}

// Goal: a failure is shown when it happens and counted once. Method: of two subtests the first fails, so that its
// parent and grandparent fail too; another parent fails by itself.
func TestFailuresAreShownAtOnceAndCountedOnce(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestA/x"}`,
		`{"Action":"run","Package":"p","Test":"TestA/x/y"}`,
		`{"Action":"output","Package":"p","Test":"TestA/x/y","Output":"=== CONT  TestA/x/y\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA/x/y","Output":"    a_test.go:3: wrong\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/x/y","Elapsed":0.1}`,
	}
	_, shown := tested(1, lines...)
	wantAll(t, shown, "FAIL p TestA/x/y (0.1 s)\n    a_test.go:3: wrong\n")
	r, shown := tested(1, append(lines,
		`{"Action":"run","Package":"p","Test":"TestA/x/z"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/x/z"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/x"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestB"}`,
		`{"Action":"run","Package":"p","Test":"TestB/x"}`,
		`{"Action":"pass","Package":"p","Test":"TestB/x"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"fail","Package":"p","Elapsed":1}`,
	)...)
	wantAll(t, shown, "[1/1] FAIL p 1.0 s (2 passed, 2 failed, 0 skipped)\n")
	if got := r.tally(); got != "2 passed, 2 failed, 0 skipped" {
		t.Errorf("tally %q", got)
	}
}

// Goal: nothing that fails is lost because no test failed. Method: a package that cannot be built, and one that ends in
// the middle of a test.
func TestAPackageThatFailsWithoutATestCountsAsOne(t *testing.T) {
	t.Parallel()
	r, shown := tested(2,
		`{"Action":"build-output","ImportPath":"p [p.test]","Output":"p_test.go:3:1: undefined: x\n"}`,
		`{"Action":"build-fail","ImportPath":"p [p.test]"}`,
		`{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}`,
		`{"Action":"run","Package":"q","Test":"TestLong"}`,
		`{"Action":"output","Package":"q","Test":"TestLong","Output":"=== RUN   TestLong\n"}`,
		`{"Action":"output","Package":"q","Test":"TestLong","Output":"panic: test timed out after 1s\n"}`,
		`{"Action":"fail","Package":"q","Elapsed":1}`,
	)
	wantAll(t, shown, "undefined: x\n", "FAIL p ", "panic: test timed out after 1s\n", "FAIL q ")
	if got := r.tally(); got != "0 passed, 2 failed, 0 skipped" {
		t.Errorf("tally %q", got)
	}
}

// Goal: whoever waits sees what is running. Method: one of two packages has ended.
func TestSilenceIsBroken(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	r := newReport(&shown, 2)
	r.running()
	wantAll(t, shown.String(), "[0/2] ... building\n")
	for _, line := range []string{
		`{"Action":"output","Package":"a","Test":"TestOne","Output":"=== RUN   TestOne\n"}`,
		`{"Action":"output","Package":"b","Output":"ok\n"}`,
		`{"Action":"pass","Package":"b","Elapsed":1}`,
		`{"Action":"output","Package":"empty","Output":"? no test files\n"}`,
		`{"Action":"skip","Package":"empty","Elapsed":0}`,
	} {
		r.line([]byte(line))
	}
	r.running()
	wantAll(t, shown.String(), "[1/2] ... a 0 s (0 passed, 0 failed, 0 skipped)\n")
}

// Goal: the program's last line is the count, its exit says whether all is well, and the tally keeps the line. Method:
// a module with one test, which passes or fails as the environment says.
func TestRunEndsWithTheCount(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n",
		"a_test.go": `package a
import ("os"; "testing")
func TestIt(t *testing.T) { if os.Getenv("REPORT_TEST_FAIL") != "" { t.Fatal("as told") } }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	tally := filepath.Join(dir, "tally")
	t.Setenv(tallyVariable, tally)
	var shown strings.Builder
	if err := run(t.Context(), []string{"-count=1", "--", "./..."}, &shown); err != nil {
		t.Fatalf("%v\n%s", err, &shown)
	}
	if !strings.HasSuffix(shown.String(), "\n1 passed, 0 failed, 0 skipped\n") {
		t.Errorf("the last line is another:\n%s", &shown)
	}
	t.Setenv("REPORT_TEST_FAIL", "1")
	shown.Reset()
	if err := run(t.Context(), []string{"-count=1", "--", "./..."}, &shown); err == nil {
		t.Error("a failed test is no error")
	}
	wantAll(t, shown.String(), "as told", "[1/1] FAIL", "\n0 passed, 1 failed, 0 skipped\n")
	if kept, err := os.ReadFile(tally); err != nil || string(kept) != "1 passed, 0 failed, 0 skipped\n0 passed, 1 failed, 0 skipped\n" {
		t.Errorf("tally %q, %v", kept, err)
	}
}

// Goal: a go test that could not do its work is never taken for one that had none. Method: a program that ends badly
// and says nothing.
func TestASilentFailureIsAnError(t *testing.T) {
	t.Parallel()
	r := newReport(&strings.Builder{}, 0)
	if err := r.follow(exec.CommandContext(t.Context(), "false")); !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("%v, want the program's exit", err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"./..."}, {"-race", "--"}} {
		if err := run(t.Context(), args, &strings.Builder{}); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, want the usage", args, err)
		}
	}
}
