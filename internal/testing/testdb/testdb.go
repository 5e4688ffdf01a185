// Package testdb gives tests their databases and tools. For each dialect the environment variable APPLOCK_TEST_<DIALECT>_DSN names a
// server, set by hand or by internal/testing/testserver.
//
// A test whose server is missing is skipped with the reason. It fails instead if APPLOCK_TEST_REQUIRE lists the
// dialect, so that a green run in CI never means "skipped".
package testdb

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// requireVariable lists, separated by commas, the dialects whose absence is a failure.
const requireVariable = "APPLOCK_TEST_REQUIRE"

// rowsVariable is the number of rows of a table in tests of plans.
const rowsVariable = "APPLOCK_TEST_ROWS"

// serverLimit bounds the statements that make or drop a database, and their connection. PostgreSQL creates a database by copying another,
// which takes long when many tests do it at once.
const serverLimit = 60 * time.Second

// Require returns the DSN of the server for dialect, "postgres" for example. Without one it ends the test: skipped, or
// failed if APPLOCK_TEST_REQUIRE lists the dialect.
func Require(t testing.TB, dialect string) string {
	t.Helper()
	return requireDSN(t, dialect, variable(dialect, "DSN"))
}

// requireDSN returns the DSN in a variable. Without one the test ends as in Require.
func requireDSN(t testing.TB, dialect, name string) string {
	t.Helper()
	dsn := os.Getenv(name)
	if dsn == "" {
		missing(t, dialect, name+" is not set: set it, or run the tests by go run ./internal/testing/testserver -- go test ./...")
	}
	return dsn
}

// Rows returns the number of rows of a table in a test of plans: usual, or the value of APPLOCK_TEST_ROWS.
func Rows(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv(rowsVariable)
	if text == "" {
		return usual
	}
	rows, err := strconv.Atoi(text)
	if err != nil || rows < usual {
		t.Fatalf("%s is not a number from %d on: %s", rowsVariable, usual, text)
	}
	return rows
}

// HSQLDB returns the path of HSQLDB's jar, on which the Db2 procedures run. Without it, or without a Java development
// kit, the test ends as in Require.
func HSQLDB(t testing.TB) string {
	t.Helper()
	return forJava(t, "hsqldb", "JAR", "the path of hsqldb.jar")
}

// DerbyJars returns the folder of the jars of Derby's network server, for Db2's driver. Without it, or without a Java development kit, the
// test ends as in Require.
func DerbyJars(t testing.TB) string {
	t.Helper()
	return forJava(t, "derby", "JARS", "the folder of derby.jar and derbynet.jar")
}

func forJava(t testing.TB, product, what, meaning string) string {
	t.Helper()
	name := variable(product, what)
	path := os.Getenv(name)
	if path == "" {
		missing(t, product, name+" is not set: set it to "+meaning+", or run the tests by go run ./internal/testing/testserver -- go test ./...")
	}
	for _, program := range []string{"java", "javac"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, product, "there is no "+program+" in PATH: install a Java development kit")
		}
	}
	return path
}

// Redis returns the DSN, redis://:password@host:port/database, of the server that APPLOCK_TEST_REDIS_DSN names. All tests share its keys,
// so begin each key with a random prefix. Without that variable the test ends as in Require. The DSN holds a password: do not print it.
func Redis(t testing.TB) string {
	t.Helper()
	return Require(t, "redis")
}

// RedisServer returns the path of Redis's server, for a server of the test's own: the one that APPLOCK_TEST_REDIS_SERVER names, or the
// one in PATH. Without it the test ends as in Require.
func RedisServer(t testing.TB) string {
	t.Helper()
	return client(t, "redis", "SERVER", "redis-server")
}

// Clients returns the directory APPLOCK_TEST_CLIENTS_DIR, in which clients/install has put the libraries that the clients in other
// languages need. Without it the test ends as in Require; APPLOCK_TEST_REQUIRE lists them as clients.
func Clients(t testing.TB) string {
	t.Helper()
	name := variable("clients", "DIR")
	folder := os.Getenv(name)
	if folder == "" {
		missing(t, "clients", name+" is not set: run the tests by make test-clients, which installs the languages and their drivers")
	}
	return folder
}

// client returns the path of a dialect's command line client: the one in the variable that ends in what, or the program in PATH. Without
// one the test ends as in Require.
func client(t testing.TB, dialect, what, program string) string {
	t.Helper()
	name := variable(dialect, what)
	if given := os.Getenv(name); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			t.Fatalf("%s does not name a program: correct or unset it: %v", name, err)
		}
		return path
	}
	path, err := exec.LookPath(program)
	if err != nil {
		missing(t, dialect, "there is no "+program+" in PATH: install it, or set "+name)
	}
	return path
}

// randomName returns a name that no other test uses, on this or another machine.
func randomName() string {
	bytes := make([]byte, 8)
	// rand.Read never returns an error: it ends the program instead.
	_, _ = rand.Read(bytes)
	return "applock_test_" + hex.EncodeToString(bytes)
}

// missing ends a test that lacks something of dialect.
func missing(t testing.TB, dialect, reason string) {
	t.Helper()
	if required(dialect) {
		t.Fatalf("%s lists %s, and %s", requireVariable, dialect, reason)
	}
	t.Skipf("no %s: %s", dialect, reason)
}

func required(dialect string) bool {
	names := strings.FieldsFunc(os.Getenv(requireVariable), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, dialect)
}

// variable names an environment variable: APPLOCK_TEST_POSTGRES_DSN.
func variable(dialect, what string) string {
	return "APPLOCK_TEST_" + strings.ToUpper(dialect) + "_" + what
}
