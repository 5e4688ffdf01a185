//go:build unix

package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func newFakePgBouncer(f *fakeHost, base *promise) product {
	return f.fake(newPgBouncer(f.host(), base), "1.18.0")
}

func TestPgBouncerNeedsPostgres(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*promise){
		"Missing": func(p *promise) { p.settle(nil, absent("none here")) },
		"There":   func(p *promise) { p.settle(&server{}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			postgres := newPromise("PostgreSQL")
			arrange(postgres)
			f := &fakeHost{path: map[string]string{"pgbouncer": "/usr/sbin/pgbouncer"}}
			s, err := newFakePgBouncer(f, postgres).backend().supply(t.Context())
			if name == "There" {
				if err != nil || s.origin != "private, /usr/sbin" {
					t.Errorf("supply() = %+v, %v", s, err)
				}
				return
			}
			if !errors.As(err, new(*absentError)) || !strings.Contains(err.Error(), "it needs PostgreSQL, which is missing") {
				t.Errorf("error = %v, want an absence", err)
			}
			wantCommands(t, f.commands)
		})
	}
}

// One that is given stands on a server of its own.
func TestAGivenPgBouncerWaitsForNobody(t *testing.T) {
	t.Parallel()
	f := &fakeHost{env: map[string]string{pgbouncerDSN: secretDSN}}
	s, err := newFakePgBouncer(f, newPromise("PostgreSQL")).backend().supply(t.Context())
	if err != nil || s.origin != "given by "+pgbouncerDSN {
		t.Errorf("supply() = %+v, %v", s, err)
	}
}

func TestPgBouncerIsConfiguredForTheServerBehindIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dsn      string
		settings []string
		users    string
		ownDSN   string
	}{
		"Private": {
			"postgres://applock:s3cret@127.0.0.1:5433/postgres?sslmode=disable",
			[]string{"* = host='127.0.0.1' port=5433\n", "auth_type = scram-sha-256\n", "admin_users = applock\n", "server_tls_sslmode = disable\n"},
			`"applock" "s3cret"`,
			"postgres://applock:s3cret@127.0.0.1:6432/postgres?sslmode=disable",
		},
		"Encrypted": {
			"postgres://app:p%22w@db.example.org/shop?sslmode=require",
			[]string{"* = host='db.example.org' port=5432\n", "server_tls_sslmode = require\n"},
			`"app" "p""w"`,
			"postgres://app:p%22w@127.0.0.1:6432/shop?sslmode=disable",
		},
		"TrustedSocket": {
			"host=/run/o'pg user=app dbname=shop sslmode=disable",
			[]string{"* = host='/run/o''pg' port=5432\n", "auth_type = trust\n"},
			`"app" ""`,
			"postgres://app@127.0.0.1:6432/shop?sslmode=disable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgx.ParseConfig(strings.Replace(test.dsn, "o'pg", `o\'pg`, 1))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(test.dsn, "user=app ") {
				config.Password = "" // whatever the developer's own files say
			}
			p := pgbouncer{server: config}
			s := &privateServer{dir: t.TempDir(), port: 6432, password: "unused"}
			if err := p.initialise(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for _, part := range append(test.settings, "listen_port = 6432\n", "listen_addr = 127.0.0.1\n", "pool_mode = transaction\n") {
				if !strings.Contains(p.settings(s.port), part) {
					t.Errorf("the settings lack %q:\n%s", part, p.settings(s.port))
				}
			}
			users, err := os.ReadFile(filepath.Join(s.dir, "users"))
			if err != nil || string(users) != test.users+"\n" {
				t.Errorf("users = %q, %v, want %q", users, err, test.users)
			}
			// What the log must not show: to replace nothing would spoil it.
			if want := cmp.Or(config.Password, "unused"); s.password != want {
				t.Errorf("the password to hide is %q, want %q", s.password, want)
			}
			if got := p.dsn(s); got != test.ownDSN {
				t.Errorf("DSN = %q, want %q", got, test.ownDSN)
			}
		})
	}
}

// checkPgBouncer checks that a server without a pooler is not taken for one.
func checkPgBouncer(t *testing.T, l *launched) {
	t.Helper()
	if l.product.name == "pgbouncer" {
		checkSessionMode(t, l.dsn)
	}
	if l.product.name != "postgres" {
		return
	}
	if _, err := probePgBouncer(t.Context(), l.dsn); err == nil || !strings.Contains(err.Error(), "it is no PgBouncer") {
		t.Errorf("a PostgreSQL was taken for a PgBouncer: %v", err)
	}
}

// checkSessionMode makes the pooler one that gives a connection away for a session: what works behind that proves nothing.
func checkSessionMode(t *testing.T, dsn string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Database = pgbouncerConsole
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := consoleRows(t.Context(), conn, "SET pool_mode = 'session'"); err != nil {
		t.Fatal(err)
	}
	if _, err := probePgBouncer(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), `its pool_mode is "session"`) {
		t.Errorf("a pooler of sessions was accepted: %v", err)
	}
}
