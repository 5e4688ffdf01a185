package pgadvisory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions/sessionstest"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

func TestMain(m *testing.M) { locktest.Main(m, tested().Open) }

// tested is the package as its tests with getlock's use it.
func tested() sessionstest.Package {
	configOf := func(config sessionstest.Config) pgadvisory.Config {
		return pgadvisory.Config{DSN: config.DSN, Namespace: config.Namespace, Grace: config.Grace}
	}
	return sessionstest.Package{
		New: func(config sessionstest.Config) (*lease.Leases, error) { return pgadvisory.New(configOf(config)) },
		NewBackend: func(config sessionstest.Config) (lease.Backend, error) {
			return pgadvisory.NewBackend(configOf(config))
		},
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	product(t).Contract(t)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	sessionstest.Exercise(t, product(t))
}

func TestBadConfig(t *testing.T) { tested().TestBadConfig(t, "postgres") }

// product is PostgreSQL.
func product(t testing.TB) sessionstest.Product {
	t.Helper()
	dsn := testdb.Require(t, "postgres")
	return sessionstest.Product{
		Package: tested(),
		DSN:     dsn,
		Holder: func(t testing.TB, namespace string, object applock.Object) int {
			t.Helper()
			const query = `SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
				AND (classid::bigint << 32) | objid::bigint = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
			return ask[int](t, connect(t, dsn), query, pgadvisory.Key(namespace, object))
		},
		Alive: func(t testing.TB, session int) bool {
			t.Helper()
			return ask[bool](t, connect(t, dsn), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", session)
		},
		Kill: func(t testing.TB, session int) {
			t.Helper()
			ask[bool](t, connect(t, dsn), "SELECT pg_terminate_backend($1)", session)
		},
		Other: func(t testing.TB, namespace string, object applock.Object) sessionstest.Other {
			t.Helper()
			conn := connect(t, dsn)
			const sql = "SELECT ('x' || left(encode(sha256(convert_to($1 || ':' || $2, 'UTF8')), 'hex'), 16))::bit(64)::bigint"
			key := ask[int64](t, conn, sql, namespace, object.String())
			return otherOn(conn, fmt.Sprint(key))
		},
	}
}

// otherOn returns a program that takes the lock with this key, or these two.
func otherOn(conn *pgx.Conn, key string) sessionstest.Other {
	call := func(t testing.TB, function string) bool {
		t.Helper()
		return ask[bool](t, conn, fmt.Sprintf("SELECT %s(%s)", function, key))
	}
	return sessionstest.Other{
		Name: fmt.Sprintf("session %d ()", conn.PgConn().PID()),
		Lock: func(t testing.TB) bool {
			t.Helper()
			return call(t, "pg_try_advisory_lock")
		},
		Unlock: func(t testing.TB) {
			t.Helper()
			if !call(t, "pg_advisory_unlock") {
				t.Error("the other program had lost its lock")
			}
		},
	}
}

// ask returns the one value that a query returns.
func ask[T any](t testing.TB, conn *pgx.Conn, query string, args ...any) (answer T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}
