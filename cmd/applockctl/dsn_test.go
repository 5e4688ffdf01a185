package main

import (
	"net/url"
	"strings"
	"testing"
)

// No error repeats a password, or a piece of one, however the DSN is written. All of them name a port
// that nobody listens on, or hosts that do not exist.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	const left, right = "Zq7xSecret", "Wv9kGeheim"
	var dsns []string
	for _, separator := range []string{"", ":", "/", "@", "#", "?", "%", "%40", "%zz", "&", "=", " ", "'", `"`, "\n", "@@", "/@", "?=@"} {
		for _, password := range []string{left + separator + right, separator + left, left + separator, "12" + separator + left} {
			dsns = append(
				dsns,
				"postgres://user:"+password+"@127.0.0.1:1/db",
				"postgres://user:"+url.QueryEscape(password)+"@127.0.0.1:1/db?sslmode=nonsense",
				"postgres://user:"+url.QueryEscape(password)+"@127.0.0.1:1/db?sslmode=disable",
				"postgresql://:"+password+"@127.0.0.1:1/db",
				"postgres://127.0.0.1:1/db?user=u&password="+password,
				"postgres://127.0.0.1:1/db?user=u&sslmode=nonsense&password="+password,
				"postgres://user:"+password+"@127.0.0.1:port/db",
				"postgres:user:"+password+"@127.0.0.1:1/db",
				"postgres:/user:"+password+"@127.0.0.1:1/db",
				"mysql://user:"+password+"@127.0.0.1:1/db",
				"user:"+password+"@127.0.0.1:1/db",
				"host=127.0.0.1 port=1 user=u password="+password,
				" postgres://user:"+password+"@127.0.0.1:1/db",
			)
		}
	}
	for _, dsn := range dsns {
		for _, got := range []result{
			userOf(dsn).run(t, "get", "customer:42", "--operator", "jdoe"),
			userOf("").run(t, "migrate", "print", "--dsn", dsn),
			userOf("").run(t, "-dsn="+dsn, "list"),
		} {
			all := got.stdout + got.stderr
			if strings.Contains(all, left) || strings.Contains(all, right) {
				t.Errorf("DSN %q: %s", dsn, all)
			}
			if got.code != exitUsage && got.code != exitError && !strings.Contains(all, "CREATE SCHEMA") {
				t.Errorf("DSN %q: exit code %d", dsn, got.code)
			}
		}
	}
}

// Neither do cobra's errors about a DSN in the wrong place.
func TestNoPasswordInUsageErrors(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://user:Zq7x@Secret@127.0.0.1/db"
	for _, args := range [][]string{
		{dsn}, {"get", "customer:42", dsn}, {"-dsn=" + dsn, "list"}, {"list", dsn}, {"--timeout", dsn, "list"},
		{"--output=" + dsn, "list"}, {"migrate", dsn}, {"inquire", dsn}, {"--dsn", "x", dsn},
	} {
		got := sqliteUser(t).run(t, args...)
		if strings.Contains(got.stderr, "Zq7x") || strings.Contains(got.stderr, "Secret") {
			t.Errorf("%v: %s", args, got.stderr)
		}
	}
}

// A DSN that cannot be used is a mistake in the command line, for every command that would use it.
func TestBadDSNIsUsage(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"x", "postgres", "oracle://u@h", "postgres:x", "postgres:/x", "postgres:x://y", "postgres://u:p@q@h/db",
		"postgres://u:p/q@h/db", "postgres://u:p@h/db@x", "postgres://u:p@h/db?x=a@b", "postgres://u:1/2?3=4@h/db",
	} {
		for _, command := range [][]string{{"inquire", "customer:42"}, {"migrate", "up"}, {"demo"}} {
			if got := userOf(dsn).run(t, command...); got.code != exitUsage {
				t.Errorf("%s %v: exit code %d, %s", dsn, command, got.code, got.stderr)
			}
		}
	}
}

func TestRedactDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"sqlite:a:b@c":                         "sqlite:a:b@c",
		"postgres://h/db":                      "postgres://h/db",
		"postgres://u@h:1/db?sslmode=disable":  "postgres://u@h:1/db?sslmode=disable",
		"postgres://u:p@h:1/db":                "postgres://u:xxxxx@h:1/db",
		"postgres://u:p%40:?#@h/db":            "postgres://u:xxxxx@h/db",
		"postgres://:p@h/db":                   "postgres://:xxxxx@h/db",
		"postgres://h/d?Password=p%41&user=u":  "postgres://h/d?Password=xxxxx&user=u",
		"postgres://h/d?user=u&sslpassword=p#": "postgres://h/d?user=u&sslpassword=xxxxx",
	} {
		if got := redactDSN(dsn); got != want {
			t.Errorf("%s becomes %s, want %s", dsn, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"customer:42": "customer:42",
		"":            "''",
		"a b":         "'a b'",
		"it's":        `'it'\''s'`,
		"$HOME":       "'$HOME'",
		"u@h":         "'u@h'",
	} {
		if got := quote(argument); got != want {
			t.Errorf("%s becomes %s, want %s", argument, got, want)
		}
	}
}
