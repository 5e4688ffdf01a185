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
	bin := filepath.Dir(MySQLClient(t, product))
	programs := private.Programs{Server: filepath.Join(filepath.Dir(bin), "sbin", "mysqld")}
	kind := private.MySQL
	if product == "mariadb" {
		programs = private.Programs{Server: filepath.Join(filepath.Dir(bin), "sbin", "mariadbd"), Setup: filepath.Join(bin, "mariadb-install-db")}
		kind = private.MariaDB
	}
	own := kind(programs)
	start := own.Command
	own.Command = func(s *private.Server) (*exec.Cmd, error) {
		command, err := start(s)
		command.Args = append(command.Args, options...)
		return command, err
	}
	server, err := private.Start(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return own.DSN(server)
}
