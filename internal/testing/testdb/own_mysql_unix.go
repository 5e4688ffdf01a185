//go:build unix

package testdb

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/applock/applock/internal/testing/private"
)

// OwnMySQL starts a MariaDB or a MySQL for one test, with additional options, and stops it when the test ends. It returns its DSN, of the
// superuser. Without a server's programs beside the client the test ends as in Require.
func OwnMySQL(t testing.TB, product string, options ...string) string {
	t.Helper()
	kind := mysqlKind(t, product)
	start := kind.Command
	kind.Command = func(s *private.Server) (*exec.Cmd, error) {
		command, err := start(s)
		command.Args = append(command.Args, options...)
		return command, err
	}
	return own(t, kind).DSN()
}

// mysqlKind is a MariaDB or a MySQL of the server's programs beside the client.
func mysqlKind(t testing.TB, product string) private.Kind {
	t.Helper()
	bin := filepath.Dir(MySQLClient(t, product))
	sbin := filepath.Join(filepath.Dir(bin), "sbin")
	if product == "mariadb" {
		return private.MariaDB(private.Programs{Server: filepath.Join(sbin, "mariadbd"), Setup: filepath.Join(bin, "mariadb-install-db")})
	}
	return private.MySQL(private.Programs{Server: filepath.Join(sbin, "mysqld")})
}
