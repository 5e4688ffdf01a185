package main

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// fakeServer listens like a server, lets handle talk with each client, and returns its address.
// Connections stay open until the test ends.
func fakeServer(t *testing.T, handle func(conn net.Conn)) string {
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
			go handle(conn)
		}
	}()
	return listener.Addr().String()
}

// protocol is how a server of a dialect speaks.
type protocol struct {
	name string
	// dsn names a server at an address.
	dsn func(address string) string
	// login lets a client in, whoever it is, and ends before its first query.
	login func(conn net.Conn) error
	// refuse answers a client with an error.
	refuse func(conn net.Conn, code, message string) error
}

func protocols() []protocol {
	return []protocol{
		{
			name:   "postgres",
			dsn:    func(address string) string { return "postgres://jdoe:Zq7xSecret@" + address + "/crm?sslmode=disable" },
			login:  postgresLogin,
			refuse: postgresRefuse,
		},
		{
			name:   "mysql",
			dsn:    func(address string) string { return "mysql://jdoe:Zq7xSecret@" + address + "/crm" },
			login:  mysqlLogin,
			refuse: mysqlRefuse,
		},
	}
}

func postgresLogin(conn net.Conn) error {
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return err
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return backend.Flush()
}

// postgresRefuse asks for the password first.
func postgresRefuse(conn net.Conn, code, message string) error {
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return err
	}
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	if err := backend.Flush(); err != nil {
		return err
	}
	if err := backend.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
		return err
	}
	if _, err := backend.Receive(); err != nil {
		return err
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
	return backend.Flush()
}

// mysqlLogin also answers the statement by which the program sets its time zone.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html
func mysqlLogin(conn net.Conn) error {
	greeting := "\x0a8.4.0\x00" + // protocol and version
		"\x01\x00\x00\x00" + "saltsalt\x00" + // connection, first half of the salt
		"\x09\xa2\xff\x02\x00\x08\x00" + // capabilities: 4.1, a database, transactions; plugins behind the character set
		"\x15" + strings.Repeat("\x00", 10) + "saltsaltsalt\x00" + "mysql_native_password\x00"
	const done = "\x00\x00\x00\x02\x00\x00\x00"
	if err := mysqlWrite(conn, 0, greeting); err != nil {
		return err
	}
	if err := mysqlRead(conn); err != nil {
		return err
	}
	if err := mysqlWrite(conn, 2, done); err != nil {
		return err
	}
	if err := mysqlRead(conn); err != nil {
		return err
	}
	return mysqlWrite(conn, 1, done)
}

// mysqlRefuse refuses before the login, as a server that has too many connections does.
func mysqlRefuse(conn net.Conn, code, message string) error {
	number, err := strconv.ParseUint(code, 10, 16)
	if err != nil {
		return err
	}
	return mysqlWrite(conn, 0, string([]byte{0xff, byte(number), byte(number >> 8)})+"#HY000"+message)
}

func mysqlWrite(conn net.Conn, sequence byte, payload string) error {
	_, err := conn.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, sequence}, payload...))
	return err
}

func mysqlRead(conn net.Conn) error {
	header := make([]byte, 4)
	if _, err := io.ReadFull(conn, header); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, conn, int64(header[0])|int64(header[1])<<8)
	return err
}

// silent takes what a client sends and never answers.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// silentAfterLogin answers the login and nothing else.
func (p protocol) silentAfterLogin(conn net.Conn) {
	if p.login(conn) == nil {
		silent(conn)
	}
}

// A refusal of the login says what to do, and not the password.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	postgres, mysql := protocols()[0], protocols()[1]
	for _, test := range []struct {
		protocol            protocol
		code, message, want string
	}{
		{postgres, "28P01", `password authentication failed for user "jdoe"`, "the server refused the user or the password of the DSN"},
		{postgres, "28000", `no pg_hba.conf entry for host "127.0.0.1"`, "the server refused the user or the password of the DSN"},
		{postgres, "3D000", `database "crm" does not exist`, "the server has no such database, or the DSN names none: check it"},
		{postgres, "42501", `permission denied for database "crm"`, "a privilege is missing, ask the database administrator to grant it"},
		{postgres, "53300", "sorry, too\nmany clients already", "sorry, too many clients already"},
		{mysql, "1045", "Access denied for user 'jdoe'@'%'", "the server refused the user or the password of the DSN"},
		{mysql, "1049", "Unknown database 'crm'", "the server has no such database, or the DSN names none: check it"},
		{mysql, "1044", "Access denied to database 'crm'", "a privilege is missing, ask the database administrator to grant it"},
		{mysql, "1040", "Too\nmany connections", "the server accepts no more connections, in all or of this account: end some of them or raise the limit; a lease needs two: "},
		{mysql, "1130", "Host '127.0.0.1' is not allowed to connect", "is not allowed to connect"},
	} {
		dsn := test.protocol.dsn(fakeServer(t, func(conn net.Conn) { _ = test.protocol.refuse(conn, test.code, test.message) }))
		for _, args := range []string{"get customer:42 --operator jdoe", "migrate status", "migrate up", "version", "list", "purge"} {
			got := userOf(dsn).run(t, strings.Fields(args)...)
			got.check(t, exitError, test.want)
			checkHidden(t, got)
		}
	}
}

// Goal: who may have one connection only is told which limit that is, and what run needs. Method: such an account, whose connection the test has.
func TestOnlyOneConnection(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		name := s.newUser(t, dsn, "secret")
		s.exec(t, dsn, "GRANT SELECT ON "+databaseOf(t, dsn)+".* TO "+name, "ALTER USER "+name+" WITH MAX_USER_CONNECTIONS 1")
		mine := withUser(t, dsn, name, "secret")
		pool := s.open(t, mine)
		defer func() { _ = pool.Close() }()
		if err := pool.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"get customer:42 --operator jdoe", "list", "run job:nightly -- true"} {
			userOf(mine).run(t, strings.Fields(args)...).check(t, exitError,
				"no more connections, in all or of this account: end some of them or raise the limit; a lease needs two: ", "max_user_connections")
		}
	})
}

// Nobody listens, or nobody has such a name, which is told once, although PostgreSQL's client tries with TLS and without.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://jdoe:Zq7xSecret@127.0.0.1:1/crm", "postgres://jdoe:Zq7xSecret@nothing.invalid/crm",
		"mysql://jdoe:Zq7xSecret@127.0.0.1:1/crm", "mysql://jdoe:Zq7xSecret@nothing.invalid/crm",
		"jdoe:Zq7xSecret@tcp(127.0.0.1:1)/crm", "jdoe:Zq7xSecret@unix(/no/such/socket)/crm",
	} {
		for _, args := range []string{"get customer:42 --operator jdoe", "migrate status", "migrate up", "version", "list", "demo", "grant --to cron --as janitor", "verify", "run job:x -- true"} {
			got := userOf(dsn).run(t, strings.Fields(args)...)
			got.check(t, exitError, "applockctl: "+strings.Fields(args)[0], "cannot reach the database, check that it runs and that its address is right")
			checkHidden(t, got)
			for _, reason := range []string{"connection refused", "no such host", "no such file or directory"} {
				if told := strings.Count(got.stderr, reason); told > 1 {
					t.Errorf("%s: %q is told %d times, want once: %s", args, reason, told, got.stderr)
				}
			}
		}
	}
}

// A server that does not answer is given up after --timeout. Whether a change took effect is unknown, but
// only if it was sent.
func TestTimeout(t *testing.T) {
	t.Parallel()
	const noAnswer = "no answer from the database within 1s, see --timeout"
	const unknown = "outcome unknown, repeat the call: " + noAnswer
	var group sync.WaitGroup // not subtests, of which only a few wait at once
	for _, protocol := range protocols() {
		purgeCode, purgeWant := exitUnknown, unknown
		if protocol.name == "mysql" { // a transaction, of which only the beginning was sent
			purgeCode, purgeWant = exitError, "applockctl: purge: "+noAnswer
		}
		for _, test := range []struct {
			args   string
			server func(net.Conn)
			code   int
			want   string
		}{
			{"inquire customer:42", protocol.silentAfterLogin, exitError, "applockctl: inquire customer:42: " + noAnswer},
			{"inquire customer:42", silent, exitError, "applockctl: inquire customer:42: " + noAnswer},
			{"list", protocol.silentAfterLogin, exitError, "applockctl: list: " + noAnswer},
			{"migrate status", protocol.silentAfterLogin, exitError, "applockctl: migrate status: " + noAnswer},
			{"migrate status", silent, exitError, "applockctl: migrate status: " + noAnswer},
			{"grant --to cron --as janitor", silent, exitError, "applockctl: grant: " + noAnswer},
			{"version", protocol.silentAfterLogin, exitError, "applockctl: version: " + noAnswer},
			{"demo", protocol.silentAfterLogin, exitError, "applockctl: demo: " + noAnswer},
			{"get customer:42 --operator jdoe", silent, exitError, "applockctl: get customer:42: " + noAnswer},
			{"get customer:42 --operator jdoe", protocol.silentAfterLogin, exitUnknown, "applockctl: get customer:42: " + unknown},
			{"release customer:42 --operator jdoe", protocol.silentAfterLogin, exitUnknown, unknown},
			{"transfer customer:42 --from a --to b --by boss", protocol.silentAfterLogin, exitUnknown, unknown},
			{"purge", protocol.silentAfterLogin, purgeCode, purgeWant},
		} {
			dsn := protocol.dsn(fakeServer(t, test.server))
			group.Go(func() {
				begin := time.Now()
				got := userOf(dsn).run(t, append([]string{"--timeout", "1s"}, strings.Fields(test.args)...)...)
				got.check(t, test.code, test.want)
				if took := time.Since(begin); took < time.Second {
					t.Errorf("%s %s: given up after %s", protocol.name, test.args, took)
				}
			})
		}
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
		{"inquire customer:42", 50 * time.Millisecond, exitInterrupted, "applockctl: inquire customer:42: interrupted\n"},
		{"migrate up --timeout 1s", 1500 * time.Millisecond, exitInterrupted, "applockctl: migrate up: interrupted\n"},
		{"migrate down --timeout 1s", 1500 * time.Millisecond, exitInterrupted, "applockctl: migrate down: interrupted\n"},
		{
			"get customer:42 --operator jdoe", 50 * time.Millisecond, exitInterrupted,
			"applockctl: get customer:42: outcome unknown, repeat the call: interrupted\n",
		},
	} {
		for _, protocol := range protocols() {
			ctx, interrupt := context.WithCancel(t.Context())
			dsn := protocol.dsn(fakeServer(t, func(conn net.Conn) {
				if protocol.login(conn) != nil {
					return
				}
				if _, err := conn.Read(make([]byte, 1)); err == nil { // the command has sent something
					time.AfterFunc(test.after, interrupt)
				}
				silent(conn)
			}))
			group.Go(func() {
				got := userOf(dsn).runContext(ctx, strings.Fields(test.args)...)
				got.check(t, test.code, test.want)
			})
		}
	}
	group.Wait()
}
