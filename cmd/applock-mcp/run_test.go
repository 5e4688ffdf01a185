package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func runHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(t.Context(), args, surroundings{
		stdin: io.NopCloser(strings.NewReader("")), stdout: &out, stderr: &errs, getenv: func(string) string { return "" },
	})
	return code, out.String(), errs.String()
}

// Goal: the help changes when somebody wants it to. Method: a golden file.
func TestHelpGolden(t *testing.T) {
	t.Parallel()
	code, help, _ := runHere(t, "--help")
	if code != exitYes {
		t.Errorf("the exit code is %d", code)
	}
	golden := filepath.Join("testdata", "help.golden")
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(help), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || help != string(want) {
		t.Errorf("the help is not that of %s, %v:\n%s", golden, err, help)
	}
}

// Goal: a command line that cannot be meant is refused, by the name of the flag, without a secret. Method: each of them.
func TestUsage(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(open, []byte("a:b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const dsn = "postgres://a:hush-hush@127.0.0.1:1/x"
	for want, args := range map[string][]string{
		"DSN is missing":          {"--operator", "a"},
		"--operator is missing":   {"--dsn", dsn},
		"needs a sign-in":         {"--dsn", dsn, "--listen", "127.0.0.1:0"},
		"nobody signs in on":      {"--dsn", dsn, "--operator", "a", "--passwords", open},
		"group or world access":   {"--dsn", dsn, "--listen", "127.0.0.1:0", "--passwords", open},
		"[listen operator]":       {"--dsn", dsn, "--listen", "127.0.0.1:0", "--operator", "a"},
		"[listen release-at-end]": {"--dsn", dsn, "--listen", "127.0.0.1:0", "--release-at-end"},
		"--repository must be":    {"--dsn", dsn, "--operator", "a", "--repository", "../shop"},
		"--proxy is written":      {"--dsn", dsn, "--listen", "127.0.0.1:0", "--user-header", "X", "--proxy", "x"},
		"--ttl must be":           {"--dsn", dsn, "--operator", "a", "--ttl", "0s"},
		"unknown flag":            {"--nonsense"},
		"--timeout must be":       {"--dsn", dsn, "--operator", "a", "--timeout", "0s"},
		"[oidc-issuer oidc-clien": {"--dsn", dsn, "--listen", "127.0.0.1:0", "--oidc-issuer", "https://x"},
		"NAME=FILE, each name":    {"--dsn", dsn, "--listen", "127.0.0.1:0", "--role", "a"},
		"a: " + open + " has gr":  {"--dsn", dsn, "--listen", "127.0.0.1:0", "--role", "a=" + open},
		"--member is written":     {"--dsn", dsn, "--listen", "127.0.0.1:0", "--member", "a=b"},
		"--role is missing":       {"--dsn", dsn, "--listen", "127.0.0.1:0", "--roles-header", "X"},
		"is for --user-header":    {"--dsn", dsn, "--listen", "127.0.0.1:0", "--role", "a=b", "--roles-header", "X"},
		"--listen is missing":     {"--dsn", dsn, "--operator", "a", "--role", "a=b"},
	} {
		code, stdout, stderr := runHere(t, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || stdout != "" || strings.Contains(stderr, "hush-hush") {
			t.Errorf("%v: %d %q %q, want %q", args, code, stdout, stderr, want)
		}
	}
}
