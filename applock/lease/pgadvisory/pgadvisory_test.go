package pgadvisory_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

func mustOpen(t testing.TB, config pgadvisory.Config) *lease.Leases {
	t.Helper()
	leases, err := pgadvisory.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

// ownNamespace is a namespace of the test's own.
func ownNamespace(t testing.TB) pgadvisory.Config {
	t.Helper()
	return pgadvisory.Config{DSN: testdb.Require(t, "postgres"), Namespace: rand.Text()}
}

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

func request(object applock.Object) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, MaxHold: time.Minute}
}

// Goal: locks that look alike to the server but are not on our objects are left alone. Method: the same bits as a
// pair of keys, and in another database.
func TestOtherLocks(t *testing.T) {
	t.Parallel()
	config := ownNamespace(t)
	key := pgadvisory.Key(config.Namespace, customer("42"))
	ask[string](t, connect(t, config.DSN), "SELECT pg_advisory_lock($1, $2)::text", int32(key>>32), int32(key))
	ask[string](t, connect(t, testdb.Postgres(t)), "SELECT pg_advisory_lock($1)::text", key)
	leases := mustOpen(t, config)
	lease, err := leases.TryAcquire(t.Context(), request(customer("42")))
	if err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	other := mustOpen(t, config)
	if _, err := other.TryAcquire(t.Context(), request(customer("42"))); !errors.Is(err, applock.ErrHeld) {
		t.Fatalf("try to acquire: %v, want ErrHeld", err)
	}
	go func() {
		freed <- other.Do(t.Context(), request(customer("42")), func(context.Context, applock.Lease) error { return nil })
	}()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-freed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Minute):
		t.Error("the waiter takes other locks for the one it waits for")
	}
}

// Goal: a pooler in transaction mode is refused with the reason, before anything is changed in sessions that
// others use. Method: PgBouncer; the setting that is made first is not there.
func TestAPoolerIsRefused(t *testing.T) {
	t.Parallel()
	dsn := testdb.PgBouncer(t, testdb.Postgres(t))
	leases := mustOpen(t, pgadvisory.Config{DSN: dsn})
	_, err := leases.TryAcquire(t.Context(), request(customer("42")))
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("try to acquire: %v, want the pooler to be named", err)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var timeout string
	if err := conn.QueryRow(t.Context(), "SHOW idle_session_timeout").Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("the session of others has idle_session_timeout = %s, %v", timeout, err)
	}
}

// Goal: a caller who wrongly sets SessionPooler notices it when the session changes: the holder by a check; a caller that acquires by an
// error, and then the holder, too. Method: another client begins a transaction in the session with the first lock; in the second part it
// ends before a check can see it.
func TestAWrongSessionPooler(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]bool{"Check": false, "Acquire": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := with(testdb.PgBouncer(t, testdb.Postgres(t)), "default_query_exec_mode=simple_protocol")
			leases := mustOpen(t, pgadvisory.Config{DSN: dsn, SessionPooler: true})
			lease, err := leases.TryAcquire(t.Context(), request(customer("1")))
			if err != nil {
				t.Fatal(err)
			}
			other, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close(context.WithoutCancel(t.Context()))
			tx, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if acquire {
				_, err = leases.TryAcquire(t.Context(), request(customer("2")))
				if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "SessionPooler") {
					t.Errorf("try to acquire: %v, want SessionPooler to be named", err)
				}
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-lease.Context().Done():
			case <-time.After(5 * time.Minute):
				t.Error("the holder has not heard of the loss")
			}
		})
	}
}

// with returns a DSN with an option more.
func with(dsn, option string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&" + option
	}
	return dsn + "?" + option
}

// Goal: the program shows in pg_stat_activity and in the refusals of others; by the name that the DSN gives, if it
// does. Method: the refusals.
func TestProgramName(t *testing.T) {
	t.Parallel()
	names := map[string]string{ // by the option of the DSN
		"":                            `^session \d+ \(applock \S+/\d+\)$`,
		"application_name=ledger%20a": `^session \d+ \(ledger a\)$`,
	}
	for option, pattern := range names {
		config := ownNamespace(t)
		asking := mustOpen(t, config)
		if option != "" {
			config.DSN = with(config.DSN, option)
		}
		object := customer("42")
		lease, err := mustOpen(t, config).Acquire(t.Context(), request(object))
		if err != nil {
			t.Fatal(err)
		}
		_, err = asking.TryAcquire(t.Context(), request(object))
		var held *applock.HeldError
		if !errors.As(err, &held) || !regexp.MustCompile(pattern).MatchString(held.Holder.Owner.Operator) {
			t.Errorf("refused: %v, want the holder to match %s", err, pattern)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A nightly job on one node at a time: who comes second finds it done, or goes without.
func Example() {
	if err := reconcile(context.Background(), "postgres://app@db.example.org/shop"); err != nil {
		log.Fatal(err)
	}
}

func reconcile(ctx context.Context, dsn string) error {
	leases, err := pgadvisory.New(pgadvisory.Config{DSN: dsn})
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
	t.Parallel()
	if err := reconcile(t.Context(), testdb.Require(t, "postgres")); err != nil {
		t.Error(err)
	}
}
