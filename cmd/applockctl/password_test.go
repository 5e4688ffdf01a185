package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// askPassword is a PostgreSQL server that asks each client for its password, passes it on, and refuses it.
func askPassword(passwords chan<- string) func(conn net.Conn) {
	return func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		backend := pgproto3.NewBackend(conn, conn)
		if _, err := backend.ReceiveStartupMessage(); err != nil {
			return
		}
		backend.Send(&pgproto3.AuthenticationCleartextPassword{})
		if backend.Flush() != nil || backend.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
			return
		}
		if message, err := backend.Receive(); err == nil {
			passwords <- fmt.Sprint(message.(*pgproto3.PasswordMessage).Password)
		}
		backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "no"})
		_ = backend.Flush()
	}
}

// testProcessPasswordFiles: goal: no password has to be in a command line or a crontab. Method: the files that PostgreSQL's own
// clients read, before a server that tells what it was given; and on each product a file with the whole DSN.
func testProcessPasswordFiles(t *testing.T, b binary) {
	passwords := make(chan string, 1)
	address := fakeServer(t, askPassword(passwords))
	host, port, _ := net.SplitHostPort(address)
	dsn := "APPLOCK_DSN=postgres://jdoe@" + address + "/crm?sslmode=disable"
	for file, variables := range map[string][]string{
		filepath.Join(b.directory, ".pgpass"):  {dsn},
		filepath.Join(b.directory, "passfile"): {dsn, "PGPASSFILE=" + filepath.Join(b.directory, "passfile")},
	} {
		secret := "Zq7x of " + filepath.Base(file)
		if err := os.WriteFile(file, []byte(strings.Join([]string{host, port, "crm", "jdoe", secret}, ":")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := b.cron(t, variables, "list")
		got.check(t, exitError, "the server refused the user or the password")
		checkHidden(t, got)
		if password := <-passwords; password != secret {
			t.Errorf("with %s the server gets %q", file, password)
		}
	}
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		const password = "Zq7x:/@#Secret"
		name := s.newUser(t, dsn, password)
		s.letIn(t, dsn, name)
		userOf(dsn).must(t, "grant", "--to", name, "--as", "janitor")
		file := filepath.Join(t.TempDir(), "dsn")
		if err := os.WriteFile(file, []byte(withUser(t, dsn, name, password)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.cron(t, []string{"APPLOCK_DSN_FILE=" + file}, "purge", "--older-than", "30d").check(t, exitYes)
	})
}
