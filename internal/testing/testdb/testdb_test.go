package testdb

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// fakeT records how a test would have ended. Only what this package calls is there.
type fakeT struct {
	testing.TB
	skipped, failed string
	cleanups        []func()
}

func (f *fakeT) Helper() {}

func (f *fakeT) Skipf(format string, args ...any) {
	f.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

// runFake runs test as the testing package does: on a goroutine that a skip or a failure ends.
func runFake(test func(testing.TB)) *fakeT {
	f := &fakeT{}
	f.run(test)
	return f
}

func (f *fakeT) run(test func(testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
}

// end ends the test: it runs the cleanups.
func (f *fakeT) end(t *testing.T) {
	t.Helper()
	for _, clean := range slices.Backward(f.cleanups) {
		f.run(func(testing.TB) { clean() })
	}
	if f.failed != "" {
		t.Error(f.failed)
	}
}

// These tests set the environment, so none of this package is parallel.

// Goal: a missing server or program skips, and fails where it is required: green never means skipped. Method: everything of this package that needs one,
// in an environment without any.
func TestMissingIsSkippedOrFails(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "APPLOCK_TEST_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("PATH", t.TempDir())
	for product, calls := range map[string][]func(testing.TB){
		"postgres":  {func(t testing.TB) { Postgres(t) }, func(t testing.TB) { Psql(t) }, func(t testing.TB) { PostgresTool(t, "pg_dump") }},
		"pgbouncer": {func(t testing.TB) { PgBouncer(t, "postgres://u@h/x") }},
		"mariadb":   {func(t testing.TB) { MySQL(t, "mariadb") }, func(t testing.TB) { MySQLClient(t, "mariadb") }, func(t testing.TB) { MySQLDump(t, "mariadb") }},
		"mysql":     {func(t testing.TB) { LentMySQL(t, "mysql", "x") }},
		"galera":    {func(t testing.TB) { Galera(t) }, func(t testing.TB) { GaleraPeer(t, "mysql://u@h/x") }},
		"redis":     {func(t testing.TB) { Redis(t) }, func(t testing.TB) { RedisServer(t) }},
		"hsqldb":    {func(t testing.TB) { HSQLDB(t) }},
		"derby":     {func(t testing.TB) { DerbyJars(t) }},
		"sqlite3":   {func(t testing.TB) { SQLite3(t) }},
		"tmux":      {func(t testing.TB) { Tmux(t) }},
		"clients":   {func(t testing.TB) { Clients(t) }},
	} {
		for i, call := range calls {
			t.Setenv(requireVariable, "other")
			if f := runFake(call); f.skipped == "" || f.failed != "" {
				t.Errorf("%s, %d: skipped %q, failed %q", product, i, f.skipped, f.failed)
			}
			t.Setenv(requireVariable, "other, "+product)
			if f := runFake(call); f.skipped != "" || !strings.Contains(f.failed, requireVariable+" lists "+product) {
				t.Errorf("%s, %d, required: skipped %q, failed %q", product, i, f.skipped, f.failed)
			}
		}
	}
	for _, product := range []string{"maria", "galera"} { // would look like a missing server
		if f := runFake(func(t testing.TB) { MySQL(t, product) }); !strings.HasPrefix(f.failed, "unknown product") {
			t.Errorf("product %s: skipped %q, failed %q", product, f.skipped, f.failed)
		}
	}
}

// Goal: the client of another product, which often has the same name, does not count. Method: a program that states its version.
func TestClientIsOfTheProduct(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mariadb")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho Ver 9.7.4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("APPLOCK_TEST_MARIADB_CLIENT", path)
	t.Setenv(requireVariable, "")
	if f := runFake(func(t testing.TB) { MySQLClient(t, "mariadb") }); !strings.Contains(f.skipped, "is of another product") {
		t.Errorf("skipped %q, failed %q", f.skipped, f.failed)
	}
}

// Goal: a database that is lent has one borrower at a time, who cuts off what is left of the one before. Method: two borrowers at once, then a third; a
// server that somebody else has started keeps none.
func TestMySQLLendsADatabaseToOne(t *testing.T) {
	for _, product := range MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			Require(t, product)
			t.Setenv(variable(product, "PID"), "1")
			kind := strings.ToLower(rand.Text()[:8])
			borrow := func() (dsn string, f *fakeT) {
				f = runFake(func(t testing.TB) { dsn = LentMySQL(t, product, kind) })
				return dsn, f
			}
			first, one := borrow()
			second, two := borrow()
			left, err := OpenMySQL(t, first, nil).BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			one.end(t)
			if err := left.Commit(); err == nil {
				t.Error("a transaction outlives the test that borrowed its database")
			}
			third, three := borrow()
			if first == second || third != first {
				t.Errorf("lent %s, %s, %s", first, second, third)
			}
			two.end(t)
			three.end(t)
			server := OpenMySQL(t, first, nil)
			for number := range 2 {
				if _, err := server.ExecContext(t.Context(), fmt.Sprintf("DROP DATABASE applock_lent_%s_%d", kind, number)); err != nil {
					t.Error(err)
				}
			}
			t.Setenv(variable(product, "PID"), "")
			if dsn, f := borrow(); strings.Contains(dsn, kind) {
				t.Error("a server that somebody else has started keeps a database")
			} else {
				f.end(t)
			}
		})
	}
}

// Goal: copies are made from one original, a test changes only its own, and it goes with the test although clients are still in it, also by the pooler,
// which gives a connection for one transaction. Method: three tests on a private server, the first of which dies while it makes the original.
func TestPostgresDatabases(t *testing.T) {
	server := Require(t, "postgres")
	t.Setenv(variable("postgres", "PID"), "1")
	kind, filled := strings.ToLower(rand.Text()[:8]), 0
	t.Cleanup(func() { execPostgres(t, server, "DROP DATABASE IF EXISTS applock_original_"+kind) })
	ask := func(dsn, query string) (answer int) {
		t.Helper()
		config := parsePostgres(t, dsn)
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // which prepares nothing
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	take := func() (dsn string, f *fakeT) {
		f = runFake(func(t testing.TB) {
			dsn = PostgresCopy(t, kind, func(dsn string) {
				execPostgres(t, dsn, "CREATE TABLE content ()")
				if filled++; filled == 1 {
					runtime.Goexit()
				}
			})
		})
		return dsn, f
	}
	_, dead := take()
	dead.end(t)
	one, first := take()
	execPostgres(t, one, "DROP TABLE content")
	other, second := take()
	if n := ask(other, "SELECT count(*) FROM pg_class WHERE relname = 'content'"); n != 1 || filled != 2 || one == other {
		t.Errorf("the other copy has %d tables; %d databases were filled; both are the same: %t", n, filled, one == other)
	}
	if os.Getenv(variable("pgbouncer", "DSN")) != "" || required("pgbouncer") {
		const process = "SELECT pg_backend_pid() WHERE current_database() LIKE 'applock\\_test\\_%'"
		pooled := PgBouncer(t, other)
		if one, other := ask(pooled, process), ask(pooled, process); one != other {
			t.Error("two clients who come one after the other meet two processes")
		}
	}
	first.end(t)
	second.end(t)
	if n := ask(server, "SELECT count(*) FROM pg_database WHERE datname IN ('"+parsePostgres(t, one).Database+"', '"+parsePostgres(t, other).Database+"')"); n != 0 {
		t.Errorf("%d copies are still there", n)
	}
}
