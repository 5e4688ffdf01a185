package testdb

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const (
	dialectPostgres  = "postgres"
	dialectPgBouncer = "pgbouncer"
)

// Postgres returns the DSN of a new, empty database on the server that APPLOCK_TEST_POSTGRES_DSN names. The database is dropped when the
// test ends, even if clients are still connected. Without that variable the test is skipped, or fails if APPLOCK_TEST_REQUIRE lists
// postgres. The DSN holds a password: do not print it.
func Postgres(t testing.TB) string {
	t.Helper()
	// A template cannot be copied while a client is connected to it. template0 accepts no connections.
	return copyPostgres(t, Require(t, dialectPostgres), "template0")
}

// PostgresCopy is Postgres for tests that need the same content in their database: it returns the DSN of a new copy. kind names the content.
// The first caller on a server has fill make the original in the database of dsn; fill leaves no connection open. Only a private server keeps
// originals; on any other server fill makes each database.
func PostgresCopy(t testing.TB, kind string, fill func(dsn string)) string {
	t.Helper()
	server := Require(t, dialectPostgres)
	if os.Getenv(variable(dialectPostgres, "PID")) == "" {
		dsn := Postgres(t)
		fill(dsn)
		return dsn
	}
	original := "applock_original_" + kind
	ensureOriginal(t, server, original, fill)
	return copyPostgres(t, server, original)
}

// ensureOriginal makes an original unless it is there. Other callers wait meanwhile. It gets its name when it is complete, so a process that
// dies before that leaves none.
func ensureOriginal(t testing.TB, server, original string, fill func(dsn string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
	defer cancel()
	conn := connectPostgres(ctx, t, server)
	defer func() { _ = conn.Close(ctx) }()
	exists := func() (yes bool) {
		t.Helper()
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", original).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if exists() {
		return
	}
	// The end of the connection unlocks.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", original); err != nil {
		t.Fatal(err)
	}
	if exists() {
		return
	}
	dsn := Postgres(t)
	fill(dsn)
	execPostgres(t, server, "ALTER DATABASE "+parsePostgres(t, dsn).Database+" RENAME TO "+original)
}

// copyPostgres creates a copy of a database, to be dropped when the test ends, and returns its DSN.
func copyPostgres(t testing.TB, server, original string) string {
	t.Helper()
	name := randomName()
	execPostgres(t, server, "CREATE DATABASE "+name+" TEMPLATE "+original)
	t.Cleanup(func() {
		execPostgres(t, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return withDatabase(t, dialectPostgres, server, name)
}

// PgBouncer returns the DSN of the database of dsn, made by Postgres, through the pooler that APPLOCK_TEST_PGBOUNCER_DSN names. The
// pooler assigns a server's connection to a client for one transaction at a time: use no session state, and of pgx's query modes only
// exec and simple protocol, which prepare nothing. Without the variable the test is skipped, or fails if APPLOCK_TEST_REQUIRE lists
// pgbouncer.
func PgBouncer(t testing.TB, dsn string) string {
	t.Helper()
	return withDatabase(t, dialectPgBouncer, Require(t, dialectPgBouncer), parsePostgres(t, dsn).Database)
}

// Psql returns the path of psql: the one that APPLOCK_TEST_POSTGRES_PSQL names, or the first in PATH. Without one the
// test is skipped, or fails if APPLOCK_TEST_REQUIRE lists postgres.
func Psql(t testing.TB) string {
	t.Helper()
	return client(t, dialectPostgres, "PSQL", "psql")
}

// execPostgres executes one statement on a connection of its own. It does not use the test's context, which has ended when the test
// cleans up.
func execPostgres(t testing.TB, dsn, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
	defer cancel()
	conn := connectPostgres(ctx, t, dsn)
	// The statement has been answered, or the test has failed. An error of closing adds nothing.
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func connectPostgres(ctx context.Context, t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(ctx, parsePostgres(t, dsn))
	if err != nil {
		t.Fatalf("connect to the server of %s: %v", variable(dialectPostgres, "DSN"), err)
	}
	return conn
}

// parsePostgres parses a DSN. It hides the cause of an error, because the cause quotes the DSN.
func parsePostgres(t testing.TB, dsn string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("%s cannot be parsed: write postgres://user:password@host:port/database", variable(dialectPostgres, "DSN"))
	}
	return config
}

// withDatabase returns the DSN of another database on the same server. A DSN is a URL or a list of key=value, in which the last of two
// equal keys counts.
func withDatabase(t testing.TB, dialect, dsn, name string) string {
	t.Helper()
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s is not a URL: write postgres://user:password@host:port/database", variable(dialect, "DSN"))
	}
	u.Path, u.RawPath = "/"+name, ""
	// A dbname parameter would override the path.
	query := u.Query()
	query.Del("dbname")
	query.Del("database")
	// libpq, and so psql, does not decode a plus sign as a blank.
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String()
}
