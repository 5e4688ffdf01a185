package pgadvisory_test

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

func TestMain(m *testing.M) { locktest.Main(m, open) }

func TestContract(t *testing.T) {
	t.Parallel()
	locktest.Exercise(t, locktest.Backend{
		Place:   newPlace,
		Open:    open,
		Direct:  direct,
		Endless: true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"KilledSession": killHolder,
		},
	})
}

// newPlace is a namespace and, after a blank, the DSN of the server.
func newPlace(t testing.TB) string {
	t.Helper()
	return rand.Text() + " " + testdb.Require(t, "postgres")
}

func configOf(place string) pgadvisory.Config {
	namespace, dsn, _ := strings.Cut(place, " ")
	return pgadvisory.Config{DSN: dsn, Namespace: namespace}
}

func direct(_ context.Context, place string) (lease.Backend, func() error, error) {
	backend, err := pgadvisory.NewBackend(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return backend, backend.(io.Closer).Close, nil
}

func open(_ context.Context, place string) (lease.Locker, func() error, error) {
	leases, err := pgadvisory.New(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return leases, leases.Close, nil
}

func connect(t testing.TB, place string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), configOf(place).DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// holderOf returns the process id of the session that has the lock on an object, 0 if nobody has it.
func holderOf(t testing.TB, place string, object applock.Object) (pid int) {
	t.Helper()
	const query = `SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
		AND (classid::bigint << 32) | objid::bigint = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	key := pgadvisory.Key(configOf(place).Namespace, object)
	if err := connect(t, place).QueryRow(t.Context(), query, key).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func killHolder(t testing.TB, place string, object applock.Object) {
	t.Helper()
	kill(t, place, holderOf(t, place, object))
}

// kill ends a session and returns when it has ended.
func kill(t testing.TB, place string, pid int) {
	t.Helper()
	var ended bool
	row := connect(t, place).QueryRow(t.Context(), "SELECT pg_terminate_backend($1, 60000)", pid)
	if err := row.Scan(&ended); err != nil || !ended {
		t.Fatalf("end session %d: %t, %v", pid, ended, err)
	}
}
