package testdb

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// pooled connects through the pooler by a mode that prepares nothing.
func pooled(t *testing.T, dsn string, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config := parsePostgres(t, dsn)
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Goal: the pooler is one, between the test and its own database, and gives a connection away after each transaction.
// Method: two clients who come one after the other meet the same server process; while the first is in a transaction, the
// second meets another.
func TestPgBouncerGivesAConnectionForOneTransaction(t *testing.T) {
	dsn := PgBouncer(t, Postgres(t))
	for name, mode := range map[string]pgx.QueryExecMode{
		"Exec":           pgx.QueryExecModeExec,
		"SimpleProtocol": pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(name, func(t *testing.T) {
			const process = "SELECT pg_backend_pid() WHERE current_database() = $1"
			database := parsePostgres(t, dsn).Database
			one, other := pooled(t, dsn, mode), pooled(t, dsn, mode)
			first := queryInt(t, one, process, database)
			if second := queryInt(t, other, process, database); second != first {
				t.Errorf("the clients met the processes %d and %d", first, second)
			}
			tx, err := one.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if second := queryInt(t, other, process, database); second == queryInt(t, tx.Conn(), process, database) {
				t.Error("a process serves somebody else while a transaction is open")
			}
		})
	}
}

// The test's database is dropped although the pooler stays connected to it.
func TestADatabaseIsDroppedBehindThePooler(t *testing.T) {
	server := Require(t, "postgres")
	var dsn string
	f := runFake(func(t testing.TB) { dsn = Postgres(t) })
	conn := pooled(t, PgBouncer(t, dsn), pgx.QueryExecModeSimpleProtocol)
	name := parsePostgres(t, dsn).Database
	if queryInt(t, conn, "SELECT 1") != 1 {
		t.Error("no answer")
	}
	f.run(func(testing.TB) { f.cleanups[0]() })
	if f.failed != "" {
		t.Error(f.failed)
	}
	if queryInt(t, connect(t, server), "SELECT count(*) FROM pg_database WHERE datname = $1", name) != 0 {
		t.Error("the database is still there")
	}
}

func TestAMissingPoolerIsNamed(t *testing.T) {
	t.Setenv("APPLOCK_TEST_PGBOUNCER_DSN", "")
	for name, require := range map[string]string{"Skip": "", "Fail": "postgres,pgbouncer"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(requireVariable, require)
			f := runFake(func(t testing.TB) { PgBouncer(t, "postgres://u@h/x") })
			if (f.failed != "") != (require != "") || !strings.Contains(f.failed+f.skipped, "APPLOCK_TEST_PGBOUNCER_DSN is not set") {
				t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
			}
		})
	}
}

func TestABadPoolerDSNIsNotPrinted(t *testing.T) {
	t.Setenv("APPLOCK_TEST_PGBOUNCER_DSN", "postgres://alice:s3cret@host:port:port/x")
	f := runFake(func(t testing.TB) { PgBouncer(t, "postgres://u@h/x") })
	if !strings.Contains(f.failed, "APPLOCK_TEST_PGBOUNCER_DSN") || strings.Contains(f.failed, "s3cret") {
		t.Errorf("failed %q", f.failed)
	}
}
