package postgres_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a program with a *sql.DB has the same answers as one with a pool of pgx. Method: the contract through the façade, on a pool of
// database/sql; what it promises of the server alone, the interleavings, TestContract has.
func TestContractBySQL(t *testing.T) {
	t.Parallel()
	create := func(t testing.TB) contract.Place { return placeBySQL(t, testdb.Postgres(t)) }
	contract.Exercise(t, contract.Backend{
		New: contract.NewPlaces(t, create, emptied...).Take,
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
func placeBySQL(t testing.TB, dsn string) contract.Place {
	t.Helper()
	place := newPlace(t, dsn)
	place.SQL = openSQL(t, dsn)
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

// Goal: without messages a waiter has its turn all the same. Method: the driver has no listener; a lease that is waited for, and released.
func TestWaiterBySQL(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	client := placeBySQL(t, dsn).Client
	t.Cleanup(func() { _ = client.Close() })
	if _, err := clients.Driver(client).Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
		t.Errorf("listen: %v, want ErrNoListen", err)
	}
	request := applock.AcquireRequest{Object: applock.Object{Type: "customer", ID: "1"}, MaxHold: time.Hour}
	first, err := client.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan error, 1)
	other := bySQL(t, openSQL(t, dsn))
	t.Cleanup(func() { _ = other.Close() })
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

// Goal: what a client by database/sql is asked for in the wrong way is refused with the right one, and nothing runs. Method: no pool, a schema
// that cannot be, and the transaction of pgx.
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
	driver := placeBySQL(t, testdb.Postgres(t)).Driver
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
