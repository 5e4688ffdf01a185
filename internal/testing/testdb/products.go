package testdb

import (
	"path/filepath"
	"strings"
	"testing"
)

// Products lists what locks are kept in: the servers, and SQLite.
func Products() []string { return append(Servers(), "sqlite") }

// Servers lists the products with a server. Db2 is none of them, since it is seldom at hand.
func Servers() []string { return append(MySQLProducts(), dialectPostgres) }

// EachProduct runs a test on each product, at the same time. The test asks for a database; a product whose server is missing is skipped then.
func EachProduct(t *testing.T, products []string, test func(t *testing.T, product string)) {
	t.Helper()
	for _, product := range products {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			test(t, product)
		})
	}
}

// New returns the DSN of a new, empty database of one of Products, which is removed when the test ends. options end its CREATE DATABASE.
func New(t testing.TB, product string, options ...string) string {
	t.Helper()
	switch product {
	case dialectPostgres:
		return copyPostgres(t, Require(t, dialectPostgres), strings.Join(append([]string{"template0"}, options...), " "))
	case "sqlite":
		return "sqlite:" + filepath.Join(t.TempDir(), "applock.db")
	}
	return mysqlServer(t, product).newDatabase(t, options...)
}
