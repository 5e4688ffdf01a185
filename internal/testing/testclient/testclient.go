// Package testclient makes clients for tests, and ends the test if that fails.
package testclient

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/db2"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
)

// Postgres returns a client on a pool, in the default schema.
func Postgres(t testing.TB, pool *pgxpool.Pool) *applock.Client {
	t.Helper()
	return checked(t)(postgres.New(pool, postgres.Config{}))
}

// MySQL returns a client on a pool, in the database of its connections.
func MySQL(t testing.TB, pool *sql.DB) *applock.Client {
	t.Helper()
	return checked(t)(mysql.New(pool, mysql.Config{}))
}

// DB2 returns a client on a pool, in the default schema.
func DB2(t testing.TB, pool *sql.DB) *applock.Client {
	t.Helper()
	return checked(t)(db2.New(pool, db2.Config{}))
}

// SQLite returns a client on a handle.
func SQLite(t testing.TB, handle *sql.DB) *applock.Client {
	t.Helper()
	return checked(t)(sqlite.New(handle, sqlite.Config{}))
}

// Open returns a client for a DSN, in a schema, empty for the default one, and closes it when the test ends.
func Open(t testing.TB, dsn, schema string, logger *slog.Logger) *applock.Client {
	t.Helper()
	client := checked(t)(open.ByDSN(t.Context(), dsn, open.Config{Schema: schema, Logger: logger}))
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Opener returns a function that opens clients of a DSN, which goroutines may call: if it fails, the test goes on without a client.
func Opener(t testing.TB, dsn string) func() *applock.Client {
	return func() *applock.Client {
		t.Helper()
		client, err := open.ByDSN(context.Background(), dsn, open.Config{})
		if err != nil {
			t.Error(err)
			return nil
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
}

func checked(t testing.TB) func(*applock.Client, error) *applock.Client {
	return func(client *applock.Client, err error) *applock.Client {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
}

// PostgresIn returns a client on a pool, in a schema.
func PostgresIn(t testing.TB, pool *pgxpool.Pool, schema string) *applock.Client {
	t.Helper()
	return checked(t)(postgres.New(pool, postgres.Config{Schema: schema}))
}

// MySQLIn returns a client on a pool, in another database than the one of its connections.
func MySQLIn(t testing.TB, pool *sql.DB, schema string) *applock.Client {
	t.Helper()
	return checked(t)(mysql.New(pool, mysql.Config{Schema: schema}))
}

// DB2In returns a client on a pool, in a schema.
func DB2In(t testing.TB, pool *sql.DB, schema string) *applock.Client {
	t.Helper()
	return checked(t)(db2.New(pool, db2.Config{Schema: schema}))
}
