//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// The variables of PgBouncer that the launcher reads. The tests read the ones that end in DSN and PID.
const (
	pgbouncerDSN = "APPLOCK_TEST_PGBOUNCER_DSN"
	pgbouncerBin = "APPLOCK_TEST_PGBOUNCER_BIN"
)

const (
	// pgbouncerAccount is the operating system user for the pooler if the launcher is root.
	pgbouncerAccount = "postgres"

	// pgbouncerConsole is the database in which PgBouncer itself answers.
	pgbouncerConsole = "pgbouncer"
)

// pgbouncerSettings let a client connect to any database of the server, as the tests' user. That user may also read the pooler's state,
// from which the launcher learns its version.
const pgbouncerSettings = `[databases]
* = host=%s port=%d

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = %s
auth_file = users
admin_users = %s
pool_mode = transaction
max_client_conn = 300
server_tls_sslmode = %s
`

// newPgBouncer is a pooler in transaction mode in front of the server of base.
func newPgBouncer(h host, base *promise) product {
	p := product{
		host:  h,
		name:  "pgbouncer",
		title: "PgBouncer",
		find: func(_ context.Context, h host) (installation, error) {
			return findProgram(h, pgbouncerBin, "pgbouncer")
		},
		probe: probePgBouncer,
		startPrivate: func(ctx context.Context, programs installation) (*server, error) {
			server, err := base.wait(ctx)
			if err != nil {
				return nil, err
			}
			return startPgBouncer(ctx, programs, server.dsn)
		},
		base: base,
		unpacking: unpacking{
			name: "pgbouncer-debian-unstable",
			// Debian 12 has 1.18, which ends itself when a client cancels under load
			// (https://github.com/pgbouncer/pgbouncer/issues/822, mended in 1.21).
			suite:    "unstable",
			packages: []string{"pgbouncer"},
			programs: []string{"usr/sbin/pgbouncer"},
			user:     pgbouncerAccount,
		},
	}
	p.fetch = p.unpacking.fetch
	return p
}

// pgbouncer is the engine of a private PgBouncer.
type pgbouncer struct {
	programs installation
	server   *pgx.ConnConfig // of the server behind it
}

// startPgBouncer starts a pooler in front of the server of a DSN.
func startPgBouncer(ctx context.Context, programs installation, dsn string) (*server, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause quotes the DSN.
		return nil, errors.New("the DSN of the server behind it cannot be parsed")
	}
	return startPrivateServer(ctx, pgbouncer{programs, config}, programs.origin)
}

func (p pgbouncer) product() string { return "pgbouncer" }

func (p pgbouncer) user() string { return pgbouncerAccount }

// initialise writes the file with the user's password, for connections of clients and to the server.
func (p pgbouncer) initialise(_ context.Context, s *privateServer) error {
	if p.server.Password != "" {
		s.password = p.server.Password
	}
	_, err := s.writeSecret("users", quoteUser(p.server.User)+" "+quoteUser(p.server.Password)+"\n")
	return err
}

// quoteUser quotes a name or a password for the file of users.
func quoteUser(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// command writes the configuration, because only there can the port be set.
func (p pgbouncer) command(s *privateServer) (*exec.Cmd, error) {
	path := filepath.Join(s.dir, "pgbouncer.ini")
	// The file holds no secret.
	if err := os.WriteFile(path, []byte(p.settings(s.port)), 0o644); err != nil {
		return nil, err
	}
	return exec.Command(p.programs.server, path), nil
}

func (p pgbouncer) settings(port int) string {
	auth, tls := "scram-sha-256", "disable"
	if p.server.Password == "" {
		auth = "trust"
	}
	if p.server.TLSConfig != nil {
		tls = "require"
	}
	host := "'" + strings.ReplaceAll(p.server.Host, "'", "''") + "'"
	return fmt.Sprintf(pgbouncerSettings, host, p.server.Port, port, auth, p.server.User, tls)
}

func (p pgbouncer) dsn(s *privateServer) string {
	user := url.UserPassword(p.server.User, p.server.Password)
	if p.server.Password == "" {
		user = url.User(p.server.User)
	}
	dsn := url.URL{Scheme: "postgres", User: user, Host: s.address(), Path: "/" + p.server.Database, RawQuery: "sslmode=disable"}
	return dsn.String()
}

func (p pgbouncer) probe(ctx context.Context, dsn string) (string, error) {
	return probePgBouncer(ctx, dsn)
}

// shutdown sends the signal twice: from 1.23 on, the first alone makes the pooler wait until its clients have left.
func (p pgbouncer) shutdown() []shutdownStep {
	return []shutdownStep{
		{syscall.SIGTERM, time.Second},
		{syscall.SIGTERM, 5 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
}

// parentDeath needs no shutdown: the pooler is one process and stores nothing.
func (p pgbouncer) parentDeath() syscall.Signal { return syscall.SIGKILL }

// probePgBouncer queries the server behind the pooler, and asks the pooler for its version. Its errors name host and user but neither
// password nor DSN.
func probePgBouncer(ctx context.Context, dsn string) (string, error) {
	if _, err := probePostgres(ctx, dsn); err != nil {
		return "", err
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", errors.New("its DSN cannot be parsed")
	}
	config.Database = pgbouncerConsole
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", fmt.Errorf("it is no PgBouncer, or the user is none of its admin_users or stats_users: %w", err)
	}
	// The answer is complete. An error of closing changes nothing.
	defer func() { _ = conn.Close(ctx) }()
	settings, err := consoleRows(ctx, conn, "SHOW CONFIG")
	if err != nil {
		return "", err
	}
	if mode := poolMode(settings); mode != "transaction" {
		return "", fmt.Errorf("its pool_mode is %q, not transaction", mode)
	}
	version, err := consoleRows(ctx, conn, "SHOW VERSION")
	if err != nil {
		return "", err
	}
	return poolerVersion(version)
}

// poolMode is the pooler's mode of pooling, "" if its settings do not have it.
func poolMode(settings [][][]byte) string {
	for _, setting := range settings {
		if len(setting) > 1 && string(setting[0]) == "pool_mode" {
			return string(setting[1])
		}
	}
	return ""
}

// poolerVersion returns "1.18.0" from the answer "PgBouncer 1.18.0".
func poolerVersion(rows [][][]byte) (string, error) {
	if len(rows) != 1 || len(rows[0]) == 0 {
		return "", errors.New("it is no PgBouncer: it states no version")
	}
	return strings.TrimPrefix(string(rows[0][0]), "PgBouncer "), nil
}

// consoleRows executes a command by the simple protocol, the only one that the console understands.
func consoleRows(ctx context.Context, conn *pgx.Conn, command string) ([][][]byte, error) {
	results, err := conn.PgConn().Exec(ctx, command).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows [][][]byte
	for _, result := range results {
		rows = append(rows, result.Rows...)
	}
	return rows, nil
}
