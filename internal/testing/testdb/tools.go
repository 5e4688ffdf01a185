package testdb

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// PostgresTool returns the path of a program of PostgreSQL, such as pg_dump: the one next to psql, or the one in PATH. Without it the
// test ends as in Require.
func PostgresTool(t testing.TB, program string) string {
	t.Helper()
	return beside(t, dialectPostgres, Psql(t), program)
}

// MySQLDump returns the path of a product's dump program, mariadb-dump or mysqldump: the one next to the product's client, or the one in
// PATH. Without it the test ends as in Require.
func MySQLDump(t testing.TB, product string) string {
	t.Helper()
	program := map[string]string{"mariadb": "mariadb-dump", "mysql": "mysqldump"}[product]
	return beside(t, product, MySQLClient(t, product), program)
}

// beside returns the path of a program in the directory of another one, which has its version, or in PATH.
func beside(t testing.TB, dialect, client, program string) string {
	t.Helper()
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(client), program)); err == nil {
		return path
	}
	path, err := exec.LookPath(program)
	if err != nil {
		missing(t, dialect, "there is no "+program+" beside "+client+" or in PATH: install it")
	}
	return path
}

// SQLite3 returns the path of SQLite's shell in PATH. Without it the test is skipped, or fails if APPLOCK_TEST_REQUIRE
// lists sqlite3.
func SQLite3(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		missing(t, "sqlite3", "there is no sqlite3 in PATH: install it")
	}
	return path
}

// Tmux returns the path of the terminal multiplexer tmux in PATH. Without it the test ends as in Require.
func Tmux(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		missing(t, "tmux", "there is no tmux in PATH: install it")
	}
	return path
}

// Promtool returns the path of Prometheus' promtool in PATH. Without it the test ends as in Require.
func Promtool(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		missing(t, "promtool", "there is no promtool in PATH: install Debian's package prometheus")
	}
	return path
}

// Applockctl returns the path of the program applockctl in a new folder. The program is as users get it, but without debugging information.
// go run keeps what it has linked, so only the first of all tests waits for the linker.
func Applockctl(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "applockctl")
	// -exec has go run call cp PROGRAM PATH instead of PROGRAM PATH.
	command := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "github.com/applock/applock/cmd/applockctl", path) //nolint:gosec // the path is this test's own
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build applockctl: %v\n%s", err, output)
	}
	return path
}
