package testdb

import (
	"context"
	"database/sql"
	"testing"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

const (
	productGalera = "galera"

	// galeraPeerVariable names the second node.
	galeraPeerVariable = "APPLOCK_TEST_GALERA_PEER_DSN"
)

// Galera returns the DSN of a new, empty database on a MariaDB node of a Galera cluster, as MySQL does on a single server.
// APPLOCK_TEST_GALERA_DSN names the node. Without it the test is skipped, or fails if APPLOCK_TEST_REQUIRE lists galera.
func Galera(t testing.TB) string {
	t.Helper()
	return mysqlServer(t, productGalera).newDatabase(t)
}

// GaleraPeer returns the DSN of the same database on another node of the cluster, which APPLOCK_TEST_GALERA_PEER_DSN names; dsn comes
// from Galera. It waits until that node has the database. Without the variable the test ends as in Galera.
func GaleraPeer(t testing.TB, dsn string) string {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	peer := serverOf(t, galeraPeerVariable, requireDSN(t, productGalera, galeraPeerVariable))
	peer.do(t, catchUp)
	return peer.database(t, config.DBName)
}

// catchUp waits until a node has all changes that the cluster had at the call.
func catchUp(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 1"); err != nil {
		return err
	}
	var one int
	return conn.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}
