package main

import (
	"net/url"
	"strings"
	"testing"
)

// No error repeats a password, or a piece of one, however the DSN is written. All of them name a port
// that nobody listens on, or hosts that do not exist.
func TestHeavyNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	const left, right = "Zq7xSecret", "Wv9kGeheim"
	for _, separator := range []string{"", ":", "/", "@", "#", "?", "%", "%40", "%zz", "&", "=", " ", "'", `"`, "\n", "@@", "/@", "?=@"} {
		t.Run(separator, func(t *testing.T) {
			t.Parallel()
			for _, password := range []string{left + separator + right, separator + left, left + separator, "12" + separator + left} {
				for _, dsn := range dsnsWith(password) {
					requireNoPassword(t, dsn, left, right)
				}
			}
		})
	}
}

// dsnsWith returns DSNs of all forms with a password in them, many of which are none.
func dsnsWith(password string) []string {
	return []string{
		"postgres://user:" + password + "@127.0.0.1:1/db",
		"postgres://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db?sslmode=nonsense",
		"postgres://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db?sslmode=disable",
		"postgresql://:" + password + "@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=u&password=" + password,
		"postgres://127.0.0.1:1/db?user=u&sslmode=nonsense&password=" + password,
		"postgres://user:" + password + "@127.0.0.1:port/db",
		"postgres:user:" + password + "@127.0.0.1:1/db",
		"postgres:/user:" + password + "@127.0.0.1:1/db",
		"mysql://user:" + password + "@127.0.0.1:1/db",
		"mysql://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db",
		"mysql://user:" + url.QueryEscape(password) + "@127.0.0.1:port/db",
		"mysql://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db?parseTime=nonsense",
		"mysql://127.0.0.1:1/db?user=u&password=" + password,
		"mysql:user:" + password + "@tcp(127.0.0.1:1)/db",
		"db2://user:" + password + "@127.0.0.1:1/db",
		"db2://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db",
		"db2://user:" + url.QueryEscape(password) + "@127.0.0.1:1/db?Security=nonsense",
		"db2://127.0.0.1:1/db?UID=u&PWD=" + password,
		"db2://127.0.0.1:1/db?UID=u&password=" + password,
		"user:" + password + "@tcp(127.0.0.1:1)/db",
		"user:" + password + "@tcp(127.0.0.1:1)/db?parseTime=nonsense",
		"user:" + password + "@unix(/no/such/socket)/db",
		"user:" + password + "@tcp(nothing.invalid)/",
		"user:" + password + "@tcp(127.0.0.1:1/db",
		"user:" + password + "@tcp(127.0.0.1:1)",
		"user:" + password + "@udp(127.0.0.1:1)/db",
		":" + password + "@tcp(127.0.0.1:1)/db",
		"user:" + password + "@127.0.0.1:1/db",
		"host=127.0.0.1 port=1 user=u password=" + password,
		" postgres://user:" + password + "@127.0.0.1:1/db",
	}
}

// requireNoPassword uses a DSN, and fails if one of the parts of its password is shown.
func requireNoPassword(t *testing.T, dsn string, parts ...string) {
	t.Helper()
	for _, got := range []result{
		userOf(dsn).run(t, "get", "customer:42", "--operator", "jdoe"),
		userOf("").run(t, "migrate", "print", "--to", "1", "--dsn", dsn),
		userOf("").run(t, "-dsn="+dsn, "list"),
	} {
		all := got.stdout + got.stderr
		for _, part := range parts {
			if strings.Contains(all, part) {
				t.Errorf("DSN %q: %s", dsn, all)
			}
		}
		if got.code != exitUsage && got.code != exitError && !strings.Contains(all, "CREATE TABLE") {
			t.Errorf("DSN %q: exit code %d", dsn, got.code)
		}
	}
}

// Neither do cobra's errors about a DSN in the wrong place.
func TestNoPasswordInUsageErrors(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for _, password := range []string{
		"Zq7x@Secret", "Zq7x:Secret", "Zq7x/Secret", "/Zq7xSecret", "//Zq7xSecret", " Zq7xSecret", "Zq7x Secret",
		`"Zq7xSecret`, "'Zq7x'Secret", "Zq7x(Secret", "Zq7x\nSecret", "@Secret",
	} {
		for _, dsn := range []string{
			"postgres://user:" + password + "@127.0.0.1/db", "mysql://user:" + password + "@127.0.0.1/db",
			"user:" + password + "@tcp(127.0.0.1)/db", "user:" + password + "@unix(/tmp/x)/db", "user:" + password + "@/db",
			":" + password + "@tcp/db", "user:" + password + "@127.0.0.1/db",
		} {
			if strings.HasPrefix(dsn, "user://") && !strings.Contains(dsn, "(") {
				continue // a URL of the user Zq7xSecret
			}
			for _, args := range [][]string{
				{dsn}, {"get", "customer:42", dsn}, {"-dsn=" + dsn, "list"}, {"-dsn" + dsn, "list"}, {"list", dsn}, {"--timeout", dsn, "list"},
				{"--output=" + dsn, "list"}, {"migrate", dsn}, {"migrate", "up", dsn}, {"--dsn", "x", dsn},
				{"migrate", "print", "--dialect", dsn}, {"--schema", dsn, "migrate", "print", "--dialect", "mysql"},
			} {
				got := u.run(t, args...)
				if got.code != exitUsage {
					t.Errorf("%q: exit code %d", args, got.code)
				}
				checkHidden(t, got)
			}
		}
	}
}

// A DSN that cannot be used is a mistake in the command line, for every command that would use it.
func TestBadDSNIsUsage(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"x", "postgres", "oracle://u@h", "postgres:x", "postgres:/x", "postgres:x://y", "postgres://u:p@q@h/db",
		"mysql", "mysql:", "mysql:x", "mysql://u:p@q@h/db", "mysql://u:p/q@h/db", "mysql://u:p@h:port/db", "mysql://u:p@h/db?tls=x",
		"mysql://u:p@h/db?parseTime=x", "u:p@h/db", "u:p@tcp(h/db", "u:p@tcp(h)", "u:p@udp(h)/db", "u:p@tcp(h)/db?tls=x", "h/db",
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
		"sqlite:a:b@c/d":                       "sqlite:a:b@c/d",
		"postgres://h/db":                      "postgres://h/db",
		"postgres://u@h:1/db?sslmode=disable":  "postgres://u@h:1/db?sslmode=disable",
		"postgres://u:p@h:1/db":                "postgres://u:xxxxx@h:1/db",
		"postgres://u:p%40:?#@h/db":            "postgres://u:xxxxx@h/db",
		"postgres://:p@h/db":                   "postgres://:xxxxx@h/db",
		"postgres://h/d?Password=p%41&user=u":  "postgres://h/d?Password=xxxxx&user=u",
		"postgres://h/d?user=u&sslpassword=p#": "postgres://h/d?user=u&sslpassword=xxxxx",
		"mysql://h/db":                         "mysql://h/db",
		"mysql://u@h:1/db?tls=true":            "mysql://u@h:1/db?tls=true",
		"mysql://u:p%40:?#@h:1/db":             "mysql://u:xxxxx@h:1/db",
		"tcp(h:1)/db":                          "tcp(h:1)/db",
		"u@tcp(h:1)/db":                        "u@tcp(h:1)/db",
		"u:p@tcp(h:1)/db?tls=true":             "u:xxxxx@tcp(h:1)/db?tls=true",
		"u:@:a/b?c=d@e://f@tcp(h:1)/db":        "u:xxxxx@tcp(h:1)/db",
		"u://p@tcp(h:1)/db":                    "u:xxxxx@tcp(h:1)/db",
		":p@tcp(h:1)/db":                       ":xxxxx@tcp(h:1)/db",
		"u:p@unix(/run/my@sql.sock)/db":        "u:xxxxx@sql.sock)/db",
		"u:p@unix(/run/mysql.sock)/":           "u:xxxxx@unix(/run/mysql.sock)/",
		"u:p@/db":                              "u:xxxxx@/db",
	} {
		if got := redactDSN(dsn); got != want {
			t.Errorf("%s becomes %s, want %s", dsn, got, want)
		}
	}
}
