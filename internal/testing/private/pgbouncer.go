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
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// pgbouncerSettings let a client connect to any database of the server, as the tests' user. That user may also read the pooler's state,
// from which its version is known.
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

// PgBouncer is a pooler in transaction mode in front of the PostgreSQL of a DSN.
func PgBouncer(p Programs, dsn string) (Kind, error) {
	server, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause quotes the DSN.
		return Kind{}, errors.New("the DSN of the server behind it cannot be parsed")
	}
	user, auth, tls := url.UserPassword(server.User, server.Password), "scram-sha-256", "disable"
	if server.Password == "" {
		user, auth = url.User(server.User), "trust"
	}
	if server.TLSConfig != nil {
		tls = "require"
	}
	return Kind{
		Product: "pgbouncer",
		User:    postgresAccount,
		// The user's password is for connections of clients and to the server.
		Initialise: func(_ context.Context, s *Server) error {
			if server.Password != "" {
				s.Password = server.Password
			}
			_, err := s.write("users", quoteUser(server.User)+" "+quoteUser(server.Password)+"\n")
			return err
		},
		Command: func(s *Server) (*exec.Cmd, error) {
			// The port can be set only in the configuration, which holds no secret.
			settings := fmt.Sprintf(pgbouncerSettings, quoteSetting(server.Host), server.Port, s.Port, auth, server.User, tls)
			path := filepath.Join(s.Dir, "pgbouncer.ini")
			return exec.Command(p.Server, path), os.WriteFile(path, []byte(settings), 0o644)
		},
		DSN:   func(s *Server) string { return postgresURL(user, s.address(), server.Database) },
		Probe: ProbePgBouncer,
		// From 1.23 on, SIGTERM alone makes the pooler wait until its clients have left.
		Stop:        []syscall.Signal{syscall.SIGQUIT},
		ParentDeath: syscall.SIGKILL,
	}, nil
}

// quoteUser quotes a name or a password for the file of users.
func quoteUser(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// ProbePgBouncer queries the server behind the pooler, and asks the pooler for its version. Its errors name host and user but neither
// password nor DSN.
func ProbePgBouncer(ctx context.Context, dsn string) (string, error) {
	if _, err := ProbePostgres(ctx, dsn); err != nil {
		return "", err
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", errors.New("its DSN cannot be parsed")
	}
	config.Database = "pgbouncer" // in which PgBouncer itself answers
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", fmt.Errorf("it is no PgBouncer, or the user is none of its admin_users or stats_users: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // the answer is complete
	// The console understands only the simple protocol, and one command at a time.
	settings, err := conn.PgConn().Exec(ctx, "SHOW CONFIG").ReadAll()
	if err != nil {
		return "", err
	}
	mode := ""
	for _, row := range settings[0].Rows {
		if len(row) > 1 && string(row[0]) == "pool_mode" {
			mode = string(row[1])
		}
	}
	if mode != "transaction" {
		return "", fmt.Errorf("its pool_mode is %q, not transaction", mode)
	}
	version, err := conn.PgConn().Exec(ctx, "SHOW VERSION").ReadAll()
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(string(version[0].Rows[0][0]), "PgBouncer "), nil // "PgBouncer 1.18.0"
}
