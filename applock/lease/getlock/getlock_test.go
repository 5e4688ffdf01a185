package getlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/internal/sessions/sessionstest"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testserver/mysqldsn"
)

// onEach runs a test on each product.
func onEach(t *testing.T, test func(t *testing.T, product string)) {
	t.Helper()
	t.Parallel()
	for _, product := range testdb.MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			test(t, product)
		})
	}
}

func TestSessions(t *testing.T) {
	onEach(t, func(t *testing.T, product string) {
		dsn := testdb.Require(t, product)
		config, err := mysqldriver.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		handle := testdb.OpenMySQL(t, dsn, nil)
		alive := func(t testing.TB, session int) bool {
			t.Helper()
			var found int
			row := handle.QueryRow("SELECT count(*) FROM information_schema.processlist WHERE id = ?", session)
			if err := row.Scan(&found); err != nil {
				t.Fatal(err)
			}
			return found > 0
		}
		sessionstest.Exercise(t, sessionstest.Product{
			Open: func(t testing.TB, namespace, via string, grace time.Duration) *lease.Leases {
				t.Helper()
				return mustOpen(t, getlock.Config{DSN: through(t, dsn, via), Namespace: namespace, Grace: grace})
			},
			Address: config.Addr,
			Holder: func(t testing.TB, namespace string, object applock.Object) int {
				t.Helper()
				return int(holderOf(t, handle, namespace+" "+dsn, object))
			},
			Alive: alive,
			Kill: func(t testing.TB, session int) {
				t.Helper()
				if _, err := handle.Exec(fmt.Sprintf("KILL %d", session)); err != nil {
					t.Fatal(err)
				}
				for limit := time.Now().Add(time.Minute); alive(t, session); time.Sleep(time.Millisecond) {
					if time.Now().After(limit) {
						t.Fatal("the session does not end")
					}
				}
			},
		})
	})
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

// through returns a DSN with another address.
func through(t testing.TB, dsn, address string) string {
	t.Helper()
	if address == "" {
		return dsn
	}
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Net, config.Addr = "tcp", address
	changed, err := mysqldsn.Format(config)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

func request(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: time.Minute}
}

// Goal: programs in other languages exclude ours, and are excluded. Method: the SQL of the documentation makes the
// same names, and takes a lock that refuses ours; the refusal tells the session.
func TestOtherLanguages(t *testing.T) {
	onEach(t, func(t *testing.T, product string) {
		place := newPlace(t, product)
		other, err := testdb.OpenMySQL(t, configOf(place).DSN, nil).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range []applock.Object{customer("42"), customer("a:b"), customer("ä🔒'\\"), customer(strings.Repeat("x", 255))} {
			var name string
			const sql = "SELECT concat('applock:', left(sha2(concat('applock:', ?), 256), 56))"
			if err := other.QueryRowContext(t.Context(), sql, object.String()).Scan(&name); err != nil {
				t.Fatal(err)
			}
			if want := getlock.Name("", object); name != want || len(name) != 64 {
				t.Errorf("the name for %s is %s in SQL, and %s here", object, name, want)
			}
		}
		leases := mustOpen(t, configOf(place))
		name := getlock.Name(configOf(place).Namespace, customer("42"))
		var got, session int64
		if err := other.QueryRowContext(t.Context(), "SELECT get_lock(?, 0), connection_id()", name).Scan(&got, &session); err != nil || got != 1 {
			t.Fatalf("the other program got the lock: %d, %v", got, err)
		}
		_, err = leases.TryAcquire(t.Context(), request(customer("42")))
		var held *applock.HeldError
		if want := fmt.Sprintf("session %d", session); !errors.As(err, &held) || held.Holder.Owner.Operator != want {
			t.Errorf("refused: %v, want %q as the holder", err, want)
		}
		waiter := make(chan error, 1)
		go func() {
			waiter <- leases.Do(t.Context(), request(customer("42")), func(context.Context, applock.Lease) error { return nil })
		}()
		if len(waiter) > 0 {
			t.Fatalf("the waiter got the lock, or %v", <-waiter)
		}
		if _, err := other.ExecContext(t.Context(), "DO release_lock(?)", name); err != nil {
			t.Fatal(err)
		}
		if err := <-waiter; err != nil {
			t.Error(err)
		}
		lease, err := leases.Acquire(t.Context(), request(customer("42")))
		if err != nil {
			t.Fatal(err)
		}
		if err := other.QueryRowContext(t.Context(), "SELECT get_lock(?, 0)", name).Scan(&got); err != nil || got != 0 {
			t.Errorf("the other program got the lock: %d, %v", got, err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
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
		_, err := mustOpen(t, getlock.Config{DSN: node}).TryAcquire(t.Context(), request(customer("42")))
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "Galera") || !strings.Contains(err.Error(), "table") {
			t.Errorf("try to acquire: %v, want Galera and the table to be named", err)
		}
	}
}

// Goal: a bad configuration is refused without repeating the password. Method: a DSN that cannot be parsed, and a
// bad namespace.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	bad := map[string]getlock.Config{
		"dsn":       {DSN: "mysql://app:sesame@host:notaport/shop"},
		"namespace": {DSN: "mysql://app:sesame@host/shop", Namespace: "a:b"},
	}
	for argument, config := range bad {
		_, err := getlock.New(config)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("new: %v, want %s to be refused", err, argument)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the password is in %q", err)
		}
	}
}

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
	onEach(t, func(t *testing.T, product string) {
		if err := reconcile(t.Context(), testdb.Require(t, product)); err != nil {
			t.Error(err)
		}
	})
}

// Goal: an unreachable server is reported, not waited for. Method: an address without a server.
func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = mustOpen(t, getlock.Config{DSN: "mysql://app@" + address + "/shop"}).Acquire(t.Context(), request(customer("42")))
	if err == nil || !strings.Contains(err.Error(), "cannot open a session") {
		t.Errorf("acquire: %v", err)
	}
}
