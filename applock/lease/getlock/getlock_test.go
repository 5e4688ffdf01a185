package getlock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/internal/sessions/sessionstest"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

func TestMain(m *testing.M) { locktest.Main(m, tested().Open) }

// tested is the package as its tests with pgadvisory's use it.
func tested() sessionstest.Package {
	configOf := func(config sessionstest.Config) getlock.Config {
		return getlock.Config{DSN: config.DSN, Namespace: config.Namespace, Grace: config.Grace}
	}
	return sessionstest.Package{
		New:        func(config sessionstest.Config) (*lease.Leases, error) { return getlock.New(configOf(config)) },
		NewBackend: func(config sessionstest.Config) (lease.Backend, error) { return getlock.NewBackend(configOf(config)) },
	}
}

// onEach runs a test on each product.
func onEach(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) { test(t, testdb.Require(t, product)) })
}

func TestContract(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) { productOn(t, dsn).Contract(t) })
}

func TestSessions(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) { sessionstest.Exercise(t, productOn(t, dsn)) })
}

// productOn returns the product of a server.
func productOn(t testing.TB, dsn string) sessionstest.Product {
	t.Helper()
	handle := testdb.OpenMySQL(t, dsn, nil)
	ask := func(t testing.TB, query string, arg any) (answer int) {
		t.Helper()
		if err := handle.QueryRow(query, arg).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	sessions := "information_schema.processlist WHERE id = ?"
	if ask(t, "SELECT version() NOT LIKE ?", "%MariaDB%") == 1 { // MySQL's processlist fails while another session's statement has an emoji
		sessions = "performance_schema.threads WHERE processlist_id = ?"
	}
	return sessionstest.Product{
		Package: tested(),
		DSN:     dsn,
		Holder: func(t testing.TB, namespace string, object applock.Object) int {
			t.Helper()
			return ask(t, "SELECT coalesce(is_used_lock(?), 0)", getlock.Name(namespace, object))
		},
		Alive: func(t testing.TB, session int) bool {
			t.Helper()
			return ask(t, "SELECT count(*) FROM "+sessions, session) > 0
		},
		Kill: func(t testing.TB, session int) {
			t.Helper()
			if _, err := handle.Exec(fmt.Sprintf("KILL %d", session)); err != nil {
				t.Fatal(err)
			}
		},
		Other: func(t testing.TB, namespace string, object applock.Object) sessionstest.Other {
			t.Helper()
			return otherOn(t, handle, namespace, object)
		},
	}
}

// otherOn returns a program that makes the name of a lock by the SQL of the documentation.
func otherOn(t testing.TB, handle *sql.DB, namespace string, object applock.Object) sessionstest.Other {
	t.Helper()
	conn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	const name = "concat('applock:', left(sha2(concat(?, ':', ?), 256), 56))"
	call := func(t testing.TB, function string) (got bool) {
		t.Helper()
		row := conn.QueryRowContext(t.Context(), "SELECT "+fmt.Sprintf(function, name), namespace, object.String())
		if err := row.Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	var session int
	if err := conn.QueryRowContext(t.Context(), "SELECT connection_id()").Scan(&session); err != nil {
		t.Fatal(err)
	}
	return sessionstest.Other{
		Name: fmt.Sprintf("session %d", session),
		Lock: func(t testing.TB) bool {
			t.Helper()
			return call(t, "get_lock(%s, 0)")
		},
		Unlock: func(t testing.TB) {
			t.Helper()
			call(t, "release_lock(%s)")
		},
	}
}

func mustOpen(t testing.TB, config getlock.Config) *lease.Leases {
	t.Helper()
	leases, err := getlock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

func request() applock.AcquireRequest {
	return applock.AcquireRequest{Object: applock.Object{Type: "customer", ID: "42"}, MaxHold: time.Minute}
}

// Goal: on a Galera cluster, where the lock would exclude nobody on another node, it is refused, and the error
// says what to use. Method: two nodes of a cluster; what they answer themselves is logged.
func TestGaleraIsRefused(t *testing.T) {
	t.Parallel()
	dsn := testdb.Galera(t)
	for _, node := range []string{dsn, testdb.GaleraPeer(t, dsn)} {
		var got int
		if err := testdb.OpenMySQL(t, node, nil).QueryRow("SELECT get_lock('applock test', 0)").Scan(&got); err != nil || got != 1 {
			t.Logf("the server itself says %d, %v", got, err)
		}
		_, err := mustOpen(t, getlock.Config{DSN: node}).TryAcquire(t.Context(), request())
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "Galera") || !strings.Contains(err.Error(), "table") {
			t.Errorf("try to acquire: %v, want Galera and the table to be named", err)
		}
	}
}

func TestBadConfig(t *testing.T) { tested().TestBadConfig(t, "mysql") }

// A nightly job on one node at a time: who comes second finds it done, or goes without.
func Example() {
	if err := reconcile(context.Background(), "mysql://app@db.example.org"); err != nil {
		log.Fatal(err)
	}
}

func reconcile(ctx context.Context, dsn string) error {
	leases, err := getlock.New(getlock.Config{DSN: dsn, Namespace: "ledger"})
	if err != nil {
		return err
	}
	defer func() { _ = leases.Close() }()
	nightly := applock.AcquireRequest{
		Object:  applock.Object{Type: "job", ID: "reconciliation"},
		MaxHold: time.Hour,
	}
	lease, err := leases.TryAcquire(ctx, nightly)
	if errors.Is(err, applock.ErrHeld) {
		return nil // another node is at it
	}
	if err != nil {
		return err
	}
	workErr := work(lease.Context()) // which ends if the lease is lost
	return errors.Join(workErr, lease.Release(ctx))
}

func work(ctx context.Context) error { return ctx.Err() }

// Goal: the example works. Method: run it on a server.
func TestExample(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		if err := reconcile(t.Context(), dsn); err != nil {
			t.Error(err)
		}
	})
}

// Goal: an unreachable server is reported, not waited for. Method: an address without a server.
func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := mustOpen(t, getlock.Config{DSN: "mysql://app@127.0.0.1:" + wire.FreePort(t) + "/shop"}).Acquire(t.Context(), request())
	if err == nil || !strings.Contains(err.Error(), "cannot open a session") {
		t.Errorf("acquire: %v", err)
	}
}
