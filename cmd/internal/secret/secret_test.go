package secret_test

import (
	"testing"

	"github.com/applock/applock/cmd/internal/secret"
)

// Goal: what looks like a DSN, and is none, stays readable. Method: texts of servers and of this program.
func TestRedactText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"list: Error 1045 (28000): Access denied for user 'root'@'127.0.0.1' (using password: YES)":                                                         "",
		"get mail:jdoe@example.com: held by \"jdoe\"":                                                                                                       "",
		"list: a privilege is missing: execute command denied to user 'u'@'%' for routine 'd.r'":                                                            "",
		"migrate up: create \"appl_lock_goose\": CREATE command denied to user 'u'@'h' for table 't'":                                                       "",
		"open: dsn is not mysql://USER:PASSWORD@HOST:PORT/DATABASE or USER:PASSWORD@tcp(HOST:PORT)/DATABASE; write @ as %40":                                "",
		`unknown command "user:p@ss@tcp(h:1)/db" for "applockctl"`:                                                                                          `unknown command "user:xxxxx@tcp(h:1)/db" for "applockctl"`,
		`list: unexpected argument "user:a:b@unix(/x)/db"`:                                                                                                  `list: unexpected argument "user:xxxxx@unix(/x)/db"`,
		`list: unexpected argument "mysql://user:a:b@h/db"`:                                                                                                 `list: unexpected argument "mysql://user:xxxxx@h/db"`,
		`inquire customer:42: create it with: applockctl --dsn 'u:xxxxx@tcp(h)/db' migrate up`:                                                              "",
		"f is missing; see all with: applockctl --dsn mysql://u:xxxxx@h/db migrate status; mend with: applockctl --dsn mysql://u:xxxxx@h/db migrate repair": "",
		"f is missing; see all with: applockctl --dsn 'u:xxxxx@tcp(h)/db' migrate status; mend with: applockctl --dsn 'u:xxxxx@tcp(h)/db' migrate repair":   "",
		`list: unknown flag: --user:p@ss@tcp(h)/db`:                                                                                                         `list: unknown flag: --user:xxxxx@tcp(h)/db`,
	} {
		if want == "" {
			want = text
		}
		if got := secret.Redact(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
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
		if got := secret.Quote(argument); got != want {
			t.Errorf("%s becomes %s, want %s", argument, got, want)
		}
	}
}
