package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a program with a *sql.DB has the same answers as one with a pool of pgx. Method: the contract through the façade, on a pool of
// database/sql; what it promises of the server alone, the interleavings, TestContract has.
func TestHeavyContractBySQL(t *testing.T) {
	t.Parallel()
	contract.Exercise(t, contract.Backend{
		New: contract.NewPlaces(t, placeBySQL, emptied...).Take,
		Empty: func(t testing.TB) func() *applock.Client {
			pool := openSQL(t, testdb.Postgres(t))
			return func() *applock.Client { return bySQL(t, pool) }
		},
		Ways:         []string{"facade"},
		JSONGrants:   true,
		ConvertsJSON: true,
	})
}

// placeBySQL is a place whose client is on a pool of database/sql.
func placeBySQL(t testing.TB) contract.Place {
	t.Helper()
	place := newPlace(t)
	place.SQL = openSQL(t, place.DSN)
	place.Client = bySQL(t, place.SQL)
	place.Driver = clients.Driver(place.Client)
	return place
}

func openSQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxIdleConns(12)
	return pool
}

func bySQL(t testing.TB, pool *sql.DB) *applock.Client {
	t.Helper()
	client, err := postgres.NewSQL(pool, postgres.Config{})
	if err != nil {
		t.Error(err)
	}
	return client
}

// Goal: a schema is named in every statement, and is installed, also by database/sql. Method: one that is on no search_path, a lock's whole story.
func TestSchemaBySQL(t *testing.T) {
	t.Parallel()
	client, err := postgres.NewSQL(openSQL(t, testdb.Postgres(t)), postgres.Config{Schema: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) == 0 {
		t.Fatalf("%v, %v, want steps", done, err)
	}
	lockStory(t, client, applock.Object{Type: "customer", ID: "1"})
}

// Goal: without messages a waiter has its turn all the same. Method: the driver has no listener; a lease that is waited for, and released.
func TestWaiterBySQL(t *testing.T) {
	t.Parallel()
	place := placeBySQL(t)
	client, dsn := place.Client, place.DSN
	t.Cleanup(func() { _ = client.Close() })
	if _, err := clients.Driver(client).Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
		t.Errorf("listen: %v, want ErrNoListen", err)
	}
	other := bySQL(t, openSQL(t, dsn))
	t.Cleanup(func() { _ = other.Close() })
	handOver(t, client, other)
}

// handOver requires that a lease which one client releases goes to the other, which waits for it.
func handOver(t *testing.T, client, other *applock.Client) {
	t.Helper()
	request := applock.AcquireRequest{Object: applock.Object{Type: "customer", ID: "1"}, MaxHold: time.Hour}
	first, err := client.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan error, 1)
	go func() {
		second, err := other.Acquire(t.Context(), request)
		if err == nil {
			err = second.Release(t.Context())
		}
		granted <- err
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		for _, err := range other.Waiters(t.Context(), applock.WaitersRequest{}) {
			if err != nil {
				t.Fatal(err)
			}
			waiting++
		}
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
}

// Goal: a program with a *sql.DB works behind a pooler that gives a session for one transaction at a time. Method: the mode that the doc of
// New names; installed, a lock's whole story, and a lease that is handed over by two programs.
func TestPgBouncerBySQL(t *testing.T) {
	t.Parallel()
	pooled, err := url.Parse(testdb.PgBouncer(t, testdb.Postgres(t)))
	if err != nil {
		t.Fatal("the DSN of PgBouncer is no URL")
	}
	query := pooled.Query()
	query.Set("default_query_exec_mode", "exec")
	pooled.RawQuery = query.Encode()
	client, other := bySQL(t, openSQL(t, pooled.String())), bySQL(t, openSQL(t, pooled.String()))
	t.Cleanup(func() { _ = errors.Join(client.Close(), other.Close()) })
	if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) == 0 {
		t.Fatalf("%v, %v, want steps", done, err)
	}
	lockStory(t, client, applock.Object{Type: "customer", ID: "2"})
	handOver(t, client, other)
}

// Goal: renewals do not queue behind a program that uses its whole pool. Method: a pool of four of which one has renewed; the others are taken,
// and a get does not get any.
func TestRenewalBySQLInABusyPool(t *testing.T) {
	t.Parallel()
	place := placeBySQL(t)
	place.SQL.SetMaxOpenConns(4)
	params := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", TTLSeconds: 60}
	got, err := place.Driver.GetApplLock(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	renewal := db.RenewApplLocksParams{Grants: []db.RenewableGrant{{
		ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", Fence: got.Fence, TTLSeconds: 60,
	}}}
	renew := func() {
		t.Helper()
		answers, err := place.Driver.RenewApplLocks(t.Context(), renewal)
		if err != nil || len(answers) != 1 || answers[0].Outcome != db.Renewed {
			t.Errorf("renew: %v, %v", answers, err)
		}
	}
	renew()
	for range 3 {
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := place.Driver.GetApplLock(ctx, params); db.KindOf(err) != db.KindPool {
		t.Errorf("get: %v, want KindPool", err)
	}
	renew()
	if err := place.Driver.Close(); err != nil {
		t.Error(err)
	}
}

// Goal: a wrong call on a client by database/sql is refused with the right error, and runs nothing. Method: no pool, an invalid schema, and
// the transaction of pgx.
func TestRefusalsBySQL(t *testing.T) {
	t.Parallel()
	if _, err := postgres.NewSQL(nil, postgres.Config{}); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("no pool: %v, want ErrInvalid", err)
	}
	pool := sql.OpenDB(nil)
	if _, err := postgres.NewSQL(pool, postgres.Config{Schema: "No"}); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("schema: %v, want ErrInvalid", err)
	}
	err := postgres.InTx(t.Context(), bySQL(t, pool), func(pgx.Tx, *applock.Client) error {
		t.Error("work has run")
		return nil
	})
	if !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error(), "InSQLTx") {
		t.Errorf("a transaction of pgx: %v, want ErrInvalid with InSQLTx", err)
	}
}

// Goal: a transaction that the server has rolled back because a statement failed in it is never taken for committed. Method: an operation
// that fails and whose error is kept back, then the commit.
func TestFailedTransactionBySQL(t *testing.T) {
	t.Parallel()
	driver := placeBySQL(t).Driver
	err := driver.InTx(t.Context(), func(tx db.Driver) error {
		if _, err := tx.GetApplLock(t.Context(), db.GetApplLockParams{}); db.KindOf(err) != db.KindInvalid {
			t.Errorf("get of nothing: %v, want KindInvalid", err)
		}
		return nil
	})
	if db.KindOf(err) != db.KindOther || err == nil {
		t.Errorf("%v, want an error", err)
	}
}
