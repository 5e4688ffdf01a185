//go:build unix

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/applock/applock/internal/testing/testserver/mysqldsn"
	"github.com/go-sql-driver/mysql"
)

const (
	mysqldUser     = "root"
	mysqldDatabase = "applock"

	// firstStatements is the name of the file with the statements that the server executes before it listens.
	firstStatements = "first.sql"

	// mysqldAccount is the operating system user for the server if the launcher is root.
	mysqldAccount = "mysql"
)

// mysqld is the engine of a private MariaDB or MySQL server.
type mysqld struct {
	kind     mysqlKind
	programs installation
}

func (k mysqlKind) startMysqld(ctx context.Context, programs installation) (*server, error) {
	return startPrivateServer(ctx, mysqld{k, programs}, programs.origin)
}

func (m mysqld) product() string { return m.kind.name }

func (m mysqld) user() string { return mysqldAccount }

// initialise creates the data, and the statements that the server executes before it listens. Its only account until then has no
// password.
func (m mysqld) initialise(ctx context.Context, s *privateServer) error {
	setup, args := m.programs.setup, m.kind.setupOptions
	if setup == "" {
		setup = m.programs.server
	}
	// The file stays: the server reads it whenever it starts.
	if _, err := s.writeSecret(firstStatements, accountStatements(s.password)); err != nil {
		return err
	}
	options := append([]string{"--no-defaults", "--basedir=" + m.baseDir(), "--datadir=" + s.data()}, args...)
	return s.runSetup(ctx, setup, options...)
}

// accountStatements creates the account of the tests. The server requires one line for each statement. The password needs no quoting: it
// has letters and digits only.
func accountStatements(password string) string {
	account := "'" + mysqldUser + "'@'%'"
	return "CREATE USER IF NOT EXISTS " + account + " IDENTIFIED BY '" + password + "';\n" +
		"GRANT ALL PRIVILEGES ON *.* TO " + account + " WITH GRANT OPTION;\n" +
		"CREATE DATABASE IF NOT EXISTS " + mysqldDatabase + ";\n" +
		"DROP USER IF EXISTS 'root'@'localhost';\n"
}

// command sets nothing that would make the server safer than in production. The server keeps no binary log, which no test reads.
func (m mysqld) command(s *privateServer) (*exec.Cmd, error) {
	options := []string{
		// This option must come first.
		"--no-defaults",
		"--basedir=" + m.baseDir(),
		"--datadir=" + s.data(),
		"--tmpdir=" + s.dir,
		"--socket=" + filepath.Join(s.dir, "socket"),
		"--pid-file=" + filepath.Join(s.dir, "pid"),
		"--init-file=" + filepath.Join(s.dir, firstStatements),
		"--bind-address=" + loopback,
		"--port=" + strconv.Itoa(s.port),
		"--skip-name-resolve",
		"--skip-log-bin",
		"--max-connections=300",
		"--innodb-buffer-pool-size=256M",
		// The collation stays the product's default, because the schema must not rely on the server's.
		"--character-set-server=utf8mb4",
	}
	if !s.durable {
		options = append(options, "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=OFF", m.kind.noSync)
	}
	return exec.Command(m.programs.server, append(options, m.kind.serverOptions...)...), nil
}

// baseDir is the directory that contains the program in bin or sbin and the messages in share. It is set explicitly, because the built-in
// one is wrong if the server was unpacked elsewhere.
func (m mysqld) baseDir() string { return filepath.Dir(filepath.Dir(m.programs.server)) }

func (m mysqld) dsn(s *privateServer) string {
	config := mysql.NewConfig()
	config.User, config.Passwd = mysqldUser, s.password
	config.Net, config.Addr, config.DBName = "tcp", s.address(), mysqldDatabase
	// Format fails only for servers that are not reached by TCP.
	dsn, _ := mysqldsn.Format(config)
	return dsn
}

func (m mysqld) probe(ctx context.Context, dsn string) (string, error) { return m.kind.probe(ctx, dsn) }

func (m mysqld) shutdown() []shutdownStep {
	return []shutdownStep{
		{syscall.SIGTERM, 30 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
}

// parentDeath needs no shutdown: the server is one process, and its data is not read again.
func (m mysqld) parentDeath() syscall.Signal { return syscall.SIGKILL }
