package testdb

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeT records how a test would have ended. Only what this package calls is there.
type fakeT struct {
	testing.TB
	skipped, failed string
	cleanups        []func()
}

func (f *fakeT) Helper() {}

func (f *fakeT) Skipf(format string, args ...any) {
	f.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

// run calls test as the testing package does: on a goroutine that a skip or a failure ends.
func (f *fakeT) run(test func(testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
}

// runFake runs test with a fake T and returns that.
func runFake(test func(testing.TB)) *fakeT {
	f := &fakeT{}
	f.run(test)
	return f
}

// These tests set the environment, so none of this package is parallel.

func TestRequireReturnsTheDSNOfTheDialect(t *testing.T) {
	t.Setenv("APPLOCK_TEST_MYSQL_DSN", "the dsn")
	if got := Require(t, "mysql"); got != "the dsn" {
		t.Errorf("Require() = %q", got)
	}
}

func TestAMissingServerSkips(t *testing.T) {
	t.Setenv("APPLOCK_TEST_POSTGRES_DSN", "")
	for name, require := range map[string]string{"NothingRequired": "", "OthersRequired": "mysql,postgresql"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(requireVariable, require)
			f := runFake(func(t testing.TB) { Postgres(t) })
			want := "no postgres: APPLOCK_TEST_POSTGRES_DSN is not set: set it, or run the tests by " +
				"go run ./internal/testing/testserver -- go test ./..."
			if f.skipped != want || f.failed != "" {
				t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
			}
		})
	}
}

func TestAMissingServerFailsIfRequired(t *testing.T) {
	t.Setenv("APPLOCK_TEST_POSTGRES_DSN", "")
	t.Setenv(requireVariable, "mysql, postgres")
	f := runFake(func(t testing.TB) { Postgres(t) })
	want := "APPLOCK_TEST_REQUIRE lists postgres, and APPLOCK_TEST_POSTGRES_DSN is not set: set it, or run the tests by " +
		"go run ./internal/testing/testserver -- go test ./..."
	if f.failed != want || f.skipped != "" {
		t.Errorf("failed %q, skipped %q", f.failed, f.skipped)
	}
}

func TestRedisReturnsItsDSN(t *testing.T) {
	t.Setenv("APPLOCK_TEST_REDIS_DSN", "redis://:p@h:1/0")
	if got := Redis(t); got != "redis://:p@h:1/0" {
		t.Errorf("Redis() = %q", got)
	}
	t.Setenv("APPLOCK_TEST_REDIS_DSN", "")
	t.Setenv(requireVariable, "redis")
	f := runFake(func(t testing.TB) { Redis(t) })
	if !strings.Contains(f.failed, "APPLOCK_TEST_REDIS_DSN is not set") {
		t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
	}
}

// clientCase is what a test of a client sets in the environment, and what must come of it.
type clientCase struct {
	path, require            string
	want, wantSkip, wantFail string
}

func checkClient(t *testing.T, test clientCase, find func(testing.TB) string) {
	t.Helper()
	t.Setenv("PATH", test.path)
	t.Setenv(requireVariable, test.require)
	var got string
	f := runFake(func(t testing.TB) { got = find(t) })
	if got != test.want {
		t.Errorf("got %q, want %q", got, test.want)
	}
	if !matches(f.skipped, test.wantSkip) || !matches(f.failed, test.wantFail) {
		t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
	}
}

// matches reports whether got contains part, or both are empty.
func matches(got, part string) bool {
	return strings.Contains(got, part) && (part != "" || got == "")
}

// program makes an executable file that says something.
func program(t *testing.T, name, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTmuxIsFoundOrRequired(t *testing.T) {
	path := program(t, "tmux", "tmux 3.3a")
	for name, test := range map[string]clientCase{
		"Found":    {path: filepath.Dir(path), require: "tmux", want: path},
		"Missing":  {path: t.TempDir(), wantSkip: "no tmux: there is no tmux in PATH: install it"},
		"Required": {path: t.TempDir(), require: "tmux", wantFail: "APPLOCK_TEST_REQUIRE lists tmux, and there is no tmux in PATH"},
	} {
		t.Run(name, func(t *testing.T) { checkClient(t, test, Tmux) })
	}
}
