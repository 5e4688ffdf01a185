//go:build unix

package testdb

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresInstance makes PostgreSQL servers for one test, in a directory of its own, with a socket each. All have the superuser applock
// and the database postgres.
type PostgresInstance struct {
	directory string
	account   *syscall.SysProcAttr
}

// NewPostgresInstance makes the directory, and removes it when the test ends. Without a server's programs next to psql the test ends as
// in Require. The same happens for root if there is no user postgres, because the server refuses to run as root.
func NewPostgresInstance(t testing.TB) PostgresInstance {
	t.Helper()
	PostgresTool(t, "initdb")
	directory, err := os.MkdirTemp("", "own-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	return PostgresInstance{directory: directory, account: serverAccount(t, directory)}
}

// serverAccount returns the account of the servers, and gives it the directory.
func serverAccount(t testing.TB, directory string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		missing(t, dialectPostgres, "the server refuses to run as root, and there is no user postgres")
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(directory, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // as the system has them
}

// Directory is the directory of the servers' data and sockets.
func (i PostgresInstance) Directory() string { return i.directory }

// Initialise creates the data of a server.
func (i PostgresInstance) Initialise(t testing.TB, name string) {
	t.Helper()
	i.run(t, "initdb", "-D", name, "-U", "applock", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
}

// Copy creates the data of a standby from a running server.
func (i PostgresInstance) Copy(t testing.TB, primary, standby string) {
	t.Helper()
	i.run(t, "pg_basebackup", "-D", standby, "-d", i.dsn(primary), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
}

// run runs a program of the server to its end.
func (i PostgresInstance) run(t testing.TB, program string, args ...string) {
	t.Helper()
	if output, err := i.command(t, program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, output)
	}
}

func (i PostgresInstance) command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(PostgresTool(t, program), args...) //nolint:gosec,noctx // programs of the server, which the test stops in its own way
	command.SysProcAttr, command.Dir = i.account, i.directory
	return command
}

// Start starts a server with additional settings, until the test ends, and returns its DSN as soon as it answers.
func (i PostgresInstance) Start(t testing.TB, name, settings string) string {
	t.Helper()
	sockets := filepath.Join(i.directory, name+".sockets")
	mode := os.FileMode(0o777) // the server's account is another one than this process's
	if err := errors.Join(os.Mkdir(sockets, mode), os.Chmod(sockets, mode)); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(i.directory, name, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // of the test's own server
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("\nlisten_addresses = ''\nunix_socket_directories = '" + sockets + "'\n" + settings)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	server := i.command(t, "postgres", "-D", name)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait() // the test stopped it
	})
	dsn := i.dsn(name)
	awaitPostgres(t, dsn)
	return dsn
}

func (i PostgresInstance) dsn(name string) string {
	host := url.QueryEscape(filepath.Join(i.directory, name+".sockets"))
	dsn := url.URL{Scheme: "postgres", User: url.User("applock"), Path: "/postgres", RawQuery: "host=" + host}
	return dsn.String()
}

// awaitPostgres returns when a server answers.
func awaitPostgres(t testing.TB, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), serverLimit)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the server does not answer: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
