// Package testdb gives tests what they need of a database server. Which servers there are, the environment says: one
// variable APPLOCK_TEST_<DIALECT>_DSN each, set by hand or by internal/testserver.
//
// A test whose server is missing is skipped with the reason. It fails instead if APPLOCK_TEST_REQUIRE lists the
// dialect, so that a green run in CI never means "skipped".
package testdb

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// requireVariable lists, separated by commas, the dialects whose absence is a failure.
const requireVariable = "APPLOCK_TEST_REQUIRE"

// Require returns the DSN of the server for dialect, "postgres" for example. Without one it ends the test: skipped, or
// failed if APPLOCK_TEST_REQUIRE lists the dialect.
func Require(t testing.TB, dialect string) string {
	t.Helper()
	name := variable(dialect, "DSN")
	dsn := os.Getenv(name)
	if dsn == "" {
		missing(t, dialect, name+" is not set: set it, or run the tests by go run ./internal/testserver -- go test ./...")
	}
	return dsn
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
