package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// fakeServer listens like a PostgreSQL server, lets handle talk with each client after its first
// message, and returns the DSN. Connections stay open until the test ends.
func fakeServer(t *testing.T, handle func(backend *pgproto3.Backend)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				backend := pgproto3.NewBackend(conn, conn)
				if _, err := backend.ReceiveStartupMessage(); err == nil {
					handle(backend)
				}
			}()
		}
	}()
	return "postgres://jdoe:Zq7xSecret@" + listener.Addr().String() + "/crm?sslmode=disable"
}

// silent never answers.
func silent(*pgproto3.Backend) {}

// silentAfterLogin answers the login and nothing else.
func silentAfterLogin(backend *pgproto3.Backend) {
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if backend.Flush() != nil {
		return
	}
	for {
		if _, err := backend.Receive(); err != nil {
			return
		}
	}
}

// refusing answers the password with an error.
func refusing(code, message string) func(*pgproto3.Backend) {
	return func(backend *pgproto3.Backend) {
		backend.Send(&pgproto3.AuthenticationCleartextPassword{})
		if backend.Flush() != nil {
			return
		}
		if err := backend.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
			return
		}
		if _, err := backend.Receive(); err != nil {
			return
		}
		backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
		_ = backend.Flush()
	}
}

// A refusal of the login says what to do, and not the password.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ code, message, want string }{
		{"28P01", `password authentication failed for user "jdoe"`, "the server refused the user or the password of the DSN"},
		{"28000", `no pg_hba.conf entry for host "127.0.0.1"`, "the server refused the user or the password of the DSN"},
		{"3D000", `database "crm" does not exist`, "the server has no such database, check the DSN"},
		{"42501", `permission denied for database "crm"`, "a privilege is missing, ask the database administrator to grant it"},
		{"53300", "sorry, too\nmany clients already", "sorry, too many clients already"},
	} {
		dsn := fakeServer(t, refusing(test.code, test.message))
		for _, args := range []string{"get customer:42 --operator jdoe", "migrate status", "migrate up", "version", "list", "purge"} {
			got := userOf(dsn).run(t, strings.Fields(args)...)
			got.check(t, exitError, test.want)
			if strings.Contains(got.stderr, "Secret") {
				t.Errorf("the password is in %s", got.stderr)
			}
		}
	}
}

// Nobody listens, or nobody has such a name.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://jdoe:Zq7xSecret@127.0.0.1:1/crm", "postgres://jdoe:Zq7xSecret@nothing.invalid/crm",
	} {
		for _, args := range []string{"get customer:42 --operator jdoe", "migrate status", "migrate up", "version", "list", "demo"} {
			got := userOf(dsn).run(t, strings.Fields(args)...)
			got.check(t, exitError, "cannot reach the database, check that it runs and that the DSN names it")
			if strings.Contains(got.stderr, "Secret") {
				t.Errorf("the password is in %s", got.stderr)
			}
		}
	}
}

// A server that does not answer is given up after --timeout. Whether a change took effect is unknown.
func TestTimeout(t *testing.T) {
	t.Parallel()
	const noAnswer = "no answer from the database within 1s, see --timeout"
	var group sync.WaitGroup // not subtests, of which only a few wait at once
	for _, test := range []struct {
		args   string
		server func(*pgproto3.Backend)
		code   int
		want   string
	}{
		{"inquire customer:42", silentAfterLogin, exitError, "applockctl: inquire customer:42: " + noAnswer},
		{"inquire customer:42", silent, exitError, "applockctl: inquire customer:42: " + noAnswer},
		{"list", silentAfterLogin, exitError, "applockctl: list: " + noAnswer},
		{"migrate status", silentAfterLogin, exitError, "applockctl: migrate status: " + noAnswer},
		{"version", silentAfterLogin, exitError, "applockctl: version: " + noAnswer},
		{
			"get customer:42 --operator jdoe", silentAfterLogin, exitUnknown,
			"applockctl: get customer:42: outcome unknown, repeat the call: " + noAnswer,
		},
		{"release customer:42 --operator jdoe", silentAfterLogin, exitUnknown, "outcome unknown, repeat the call: " + noAnswer},
		{"transfer customer:42 --from a --to b", silentAfterLogin, exitUnknown, "outcome unknown, repeat the call: " + noAnswer},
		{"purge", silentAfterLogin, exitUnknown, "outcome unknown, repeat the call: " + noAnswer},
	} {
		dsn := fakeServer(t, test.server)
		group.Go(func() {
			begin := time.Now()
			got := userOf(dsn).run(t, append([]string{"--timeout", "1s"}, strings.Fields(test.args)...)...)
			got.check(t, test.code, test.want)
			if took := time.Since(begin); took < time.Second || took > 5*time.Second {
				t.Errorf("%s: given up after %s", test.args, took)
			}
		})
	}
	group.Wait()
}

// Ctrl-C ends a command that waits, also a migration, which waits for other migrators without a timeout.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for _, test := range []struct {
		args  string
		after time.Duration
		code  int
		want  string
	}{
		{"inquire customer:42", 50 * time.Millisecond, exitError, "applockctl: inquire customer:42: interrupted\n"},
		{"migrate up --timeout 1s", 1500 * time.Millisecond, exitError, "applockctl: migrate up: interrupted\n"},
		{"migrate down --timeout 1s", 1500 * time.Millisecond, exitError, "applockctl: migrate down: interrupted\n"},
		{
			"get customer:42 --operator jdoe", 50 * time.Millisecond, exitUnknown,
			"applockctl: get customer:42: outcome unknown, repeat the call: interrupted\n",
		},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		dsn := fakeServer(t, func(backend *pgproto3.Backend) {
			time.AfterFunc(test.after, interrupt)
			silentAfterLogin(backend)
		})
		group.Go(func() {
			got := userOf(dsn).runContext(ctx, strings.Fields(test.args)...)
			got.check(t, test.code, test.want)
		})
	}
	group.Wait()
}
