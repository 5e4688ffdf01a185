//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

const (
	postgresUser    = "applock"
	postgresAccount = "postgres"
)

const postgresSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = %[1]s
max_connections = 1000
max_prepared_transactions = 10
shared_buffers = 64MB
fsync = %[2]t
full_page_writes = %[2]t
`

// Postgres is a PostgreSQL with the superuser applock.
func Postgres(p Programs) Kind {
	return Kind{
		Product: "postgres",
		User:    postgresAccount,
		Initialise: func(ctx context.Context, s *Server) error {
			password, err := s.write("password", s.Password+"\n")
			if err != nil {
				return err
			}
			defer os.Remove(password)
			if err := s.initdb(ctx, p, "--pwfile="+password, "--auth=scram-sha-256"); err != nil {
				return err
			}
			return s.configure(fmt.Sprintf(postgresSettings, quoteSetting(s.Dir), s.Durable))
		},
		Command: func(s *Server) (*exec.Cmd, error) {
			return exec.Command(p.Server, "-D", s.data(), "-p", strconv.Itoa(s.Port)), nil
		},
		DSN: func(s *Server) string {
			return postgresURL(url.UserPassword(postgresUser, s.Password), s.address(), "postgres")
		},
		Probe: ProbePostgres,
		// The signals of pg_ctl's fast and immediate shutdown. A kill would leave the processes that serve the connections.
		Stop:        []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT},
		ParentDeath: syscall.SIGQUIT,
	}
}

// PostgresOnSocket is a PostgreSQL with additional settings that is reached by a socket in its directory alone, without a password. With a
// primary, which is of the same kind, it is that one's hot standby.
func PostgresOnSocket(p Programs, primary *Server, settings string) Kind {
	k := Postgres(p)
	k.Initialise = func(ctx context.Context, s *Server) error {
		var err error
		if primary == nil {
			err = s.initdb(ctx, p, "--auth=trust", "--no-sync")
		} else {
			err = s.setup(ctx, filepath.Join(filepath.Dir(p.Server), "pg_basebackup"), "--pgdata="+s.data(), "--dbname="+primary.DSN(),
				"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
		}
		if err != nil {
			return err
		}
		return s.configure("\nlisten_addresses = ''\nunix_socket_directories = " + quoteSetting(s.Dir) + "\n" + settings)
	}
	k.Command = func(s *Server) (*exec.Cmd, error) { return exec.Command(p.Server, "-D", s.data()), nil }
	k.DSN = func(s *Server) string {
		dsn := url.URL{Scheme: "postgres", User: url.User(postgresUser), Path: "/postgres", RawQuery: "host=" + url.QueryEscape(s.Dir)}
		return dsn.String()
	}
	k.Stop = []syscall.Signal{syscall.SIGQUIT}
	return k
}

func (s *Server) initdb(ctx context.Context, p Programs, options ...string) error {
	return s.setup(ctx, p.Setup, append(options, "--pgdata="+s.data(), "--username="+postgresUser, "--encoding=UTF8", "--locale=C")...)
}

// configure appends settings to the configuration file. ALTER SYSTEM can change these, but not arguments.
func (s *Server) configure(settings string) error {
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(settings)
	return errors.Join(err, file.Close())
}

func quoteSetting(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func postgresURL(user *url.Userinfo, host, database string) string {
	dsn := url.URL{Scheme: "postgres", User: user, Host: host, Path: "/" + database, RawQuery: "sslmode=disable"}
	return dsn.String()
}

// ProbePostgres asks the server for its version. Its errors name host and user but neither password nor DSN.
func ProbePostgres(ctx context.Context, dsn string) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause quotes the DSN.
		return "", errors.New("its DSN cannot be parsed: write postgres://user:password@host:port/database")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }() // the answer is complete
	var version string
	// The simple protocol also works through poolers without prepared statements.
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version')", pgx.QueryExecModeSimpleProtocol).Scan(&version)
	version, _, _ = strings.Cut(version, " ") // Debian answers "15.18 (Debian 15.18-0+deb12u1)"
	return version, err
}
