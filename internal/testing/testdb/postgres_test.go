package testdb

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), parsePostgres(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func queryInt(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A database is created, is empty, and is dropped at the end although a connection is still open.
func TestPostgresCreatesAndDropsADatabase(t *testing.T) {
	server := Require(t, "postgres")
	var dsn string
	f := runFake(func(t testing.TB) { dsn = Postgres(t) })
	if f.failed != "" || len(f.cleanups) != 1 {
		t.Fatalf("failed %q, %d cleanups", f.failed, len(f.cleanups))
	}
	name := parsePostgres(t, dsn).Database
	if !regexp.MustCompile(`^applock_test_[0-9a-f]{16}$`).MatchString(name) {
		t.Errorf("name = %q", name)
	}
	conn := connect(t, dsn)
	if queryInt(t, conn, "SELECT count(*) FROM pg_database WHERE datname = $1 AND datname = current_database()", name) != 1 {
		t.Error("the DSN leads to another database")
	}
	if n := queryInt(t, conn, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"); n != 0 {
		t.Errorf("the new database has %d relations", n)
	}
	f.run(func(testing.TB) { f.cleanups[0]() })
	if f.failed != "" {
		t.Error(f.failed)
	}
	if queryInt(t, connect(t, server), "SELECT count(*) FROM pg_database WHERE datname = $1", name) != 0 {
		t.Error("the database is still there")
	}
}

func TestPostgresGivesEachCallerADatabase(t *testing.T) {
	if one, other := Postgres(t), Postgres(t); one == other {
		t.Error("both got the same database")
	}
}

// Goal: copies are made from one original, and a test changes only its own. Method: three tests on a private server, the first of which dies
// while it makes the original; then a server that nobody here has started.
func TestPostgresCopiesAnOriginal(t *testing.T) {
	server := Require(t, "postgres")
	t.Setenv(variable("postgres", "PID"), "1")
	kind, filled, dies := strings.ToLower(rand.Text()[:8]), 0, true
	t.Cleanup(func() { execPostgres(t, server, "DROP DATABASE IF EXISTS applock_original_"+kind) })
	fill := func(dsn string) {
		filled++
		execPostgres(t, dsn, "CREATE TABLE content ()")
		if dies {
			runtime.Goexit()
		}
	}
	take := func() (dsn string, end func()) {
		f := runFake(func(t testing.TB) { dsn = PostgresCopy(t, kind, fill) })
		if f.failed != "" {
			t.Fatal(f.failed)
		}
		return dsn, func() {
			for _, clean := range slices.Backward(f.cleanups) {
				f.run(func(testing.TB) { clean() })
			}
			if f.failed != "" {
				t.Error(f.failed)
			}
		}
	}
	if _, end := take(); filled != 1 {
		t.Errorf("the first test has filled %d databases", filled)
	} else {
		end()
	}
	dies = false
	const tables = "SELECT count(*) FROM pg_class WHERE relname = 'content'"
	one, endOne := take()
	execPostgres(t, one, "DROP TABLE content")
	endOne()
	other, endOther := take()
	if n := queryInt(t, connect(t, other), tables); n != 1 || filled != 2 || one == other {
		t.Errorf("the other copy has %d tables; %d databases were filled; both are the same: %t", n, filled, one == other)
	}
	endOther()
	if n := queryInt(t, connect(t, server), "SELECT count(*) FROM pg_database WHERE datname IN ($1, $2)",
		parsePostgres(t, one).Database, parsePostgres(t, other).Database); n != 0 {
		t.Errorf("%d copies are still there", n)
	}
	t.Setenv(variable("postgres", "PID"), "")
	if dsn := PostgresCopy(t, kind, fill); filled != 3 || queryInt(t, connect(t, dsn), tables) != 1 {
		t.Errorf("a server that nobody here has started keeps an original: %d databases were filled", filled)
	}
}

// Nothing that a test prints may hold the password, not even when the DSN is wrong.
func TestABadDSNIsNotPrinted(t *testing.T) {
	for name, dsn := range map[string]string{
		"NotADSN":       "postgres://alice:s3cret@host:port:port/x",
		"NobodyListens": "postgres://alice:s3cret@127.0.0.1:1/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APPLOCK_TEST_POSTGRES_DSN", dsn)
			f := runFake(func(t testing.TB) { Postgres(t) })
			if !strings.Contains(f.failed, "APPLOCK_TEST_POSTGRES_DSN") || strings.Contains(f.failed, "s3cret") {
				t.Errorf("failed %q", f.failed)
			}
		})
	}
}

func TestWithDatabase(t *testing.T) {
	for name, test := range map[string]struct{ dsn, want string }{
		"URL":          {"postgres://u:p%40@h:1/old?sslmode=disable", "postgres://u:p%40@h:1/new?sslmode=disable"},
		"NoPath":       {"postgresql://u@h", "postgresql://u@h/new"},
		"Parameter":    {"postgres://h/old?dbname=other&sslmode=disable", "postgres://h/new?sslmode=disable"},
		"Blank":        {"postgres://h/?options=-c%20a%3Db", "postgres://h/new?options=-c%20a%3Db"},
		"KeywordValue": {"host=h dbname=old password='a b'", "host=h dbname=old password='a b' dbname=new"},
	} {
		t.Run(name, func(t *testing.T) {
			got := withDatabase(t, "postgres", test.dsn, "new")
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if database := parsePostgres(t, got).Database; database != "new" {
				t.Errorf("pgx would connect to %q", database)
			}
		})
	}
}

func TestPsql(t *testing.T) {
	given := program(t, "own-psql", "")
	inPath := program(t, "psql", "")
	empty := t.TempDir()
	for name, test := range map[string]struct {
		variable, path, require string
		want                    string
		wantSkip, wantFail      string
	}{
		"Given":          {variable: given, path: filepath.Dir(inPath), want: given},
		"InPath":         {path: filepath.Dir(inPath), want: inPath},
		"None":           {path: empty, wantSkip: "no psql in PATH"},
		"NoneRequired":   {path: empty, require: "postgres", wantFail: "no psql in PATH"},
		"GivenButAbsent": {variable: filepath.Join(empty, "psql"), path: filepath.Dir(inPath), wantFail: "does not name a program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APPLOCK_TEST_POSTGRES_PSQL", test.variable)
			checkClient(t, clientCase{test.path, test.require, test.want, test.wantSkip, test.wantFail}, Psql)
		})
	}
}
