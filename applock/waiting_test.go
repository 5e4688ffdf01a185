package applock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// patience bounds what must happen, on a slow machine, too. It is shorter than the time after which a waiter that nothing
// wakes looks for itself.
const patience = time.Minute

// waiting begins to acquire, and returns when the waiter is listed or has come to an end.
func waiting(t *testing.T, place realPlace, client *applock.Client, request applock.AcquireRequest) <-chan error {
	t.Helper()
	before := countWaiters(t, place.dsn, "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	result := make(chan error, 1)
	go func() {
		defer cancel()
		lease, err := client.Acquire(ctx, request)
		if err == nil {
			err = lease.Release(ctx)
		}
		result <- err
	}()
	for len(result) == 0 && countWaiters(t, place.dsn, "") == before {
		time.Sleep(5 * time.Millisecond)
	}
	return result
}

func requireServed(t *testing.T, result <-chan error) {
	t.Helper()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// Goal: a waiter is woken by the message of a release, by a poll, or, in the same client, directly: each alone is enough.
// Method: on PostgreSQL, take away the others, by functions that answer nothing.
func TestEachWayOfWaking(t *testing.T) {
	t.Parallel()
	const (
		noPolls = `CREATE OR REPLACE FUNCTION applock.poll_appl_locks(p_client_id text, p_max_rows bigint DEFAULT NULL,
			OUT object_type text, OUT object_id text, OUT free_in_us bigint, OUT first_fl text)
			RETURNS SETOF record LANGUAGE sql AS 'SELECT NULL::text, NULL::text, NULL::bigint, NULL::text WHERE false'`
		noMessages = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%LISTEN%' AND pid <> pg_backend_pid()`
	)
	tests := map[string]struct {
		without    []string
		sameClient bool
	}{
		"Message": {without: []string{noPolls}},
		"Poll":    {without: []string{noMessages}},
		"Direct":  {without: []string{noPolls, noMessages}, sameClient: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, onPostgres)
			waiter := onPlace(t, place.dsn)
			holder := place.client
			if test.sameClient {
				holder = waiter
			}
			request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}
			lease, err := holder.Acquire(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			result := waiting(t, place, waiter, request)
			place.awaitListener(t)
			place.exec(t, test.without...)
			select {
			case err := <-result:
				t.Fatalf("the waiter ended with %v while somebody held the object", err)
			case <-time.After(100 * time.Millisecond):
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			requireServed(t, result)
		})
	}
}

// awaitListener waits until a client listens.
func (p realPlace) awaitListener(t *testing.T) {
	t.Helper()
	for p.count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE '%LISTEN%' AND pid <> pg_backend_pid() AND state = 'idle'`) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// Goal: the end of a lock wakes its waiters, without a release. Method: a lock of 1 s that nobody releases.
func TestExpiryWakes(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		request := applock.GetRequest{Object: nightly, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Second}
		grant, err := place.client.Get(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		requireServed(t, waiting(t, place, onPlace(t, place.dsn), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}))
		if now := time.Now(); now.Before(grant.ExpiresAt.Add(-time.Second)) {
			t.Errorf("served at %s, before the end at %s", now, grant.ExpiresAt)
		}
	})
}

// Goal: a release by any program wakes whoever waits here. Method: a lock that is released by its operator, by way of Get
// and Release, with a waiter for a lease and one for a long lock.
func TestReleaseByOthersWakes(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		jdoe, asmith := applock.Owner{Operator: "JDOE"}, applock.Owner{Operator: "ASMITH", Department: "CS"}
		if _, err := place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: jdoe}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: asmith, MaxWait: 100 * time.Millisecond})
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Holder.Owner != jdoe || held.Holder.ExpiresAt.IsZero() || time.Since(began) < 100*time.Millisecond {
			t.Errorf("get with a wait, after %s: %v, want ErrHeld by JDOE after 100 ms", time.Since(began), err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := onPlace(t, place.dsn).Get(t.Context(), applock.GetRequest{Object: nightly, Owner: asmith, MaxWait: patience})
			result <- err
		}()
		var waiter applock.Waiter
		for waiter.Until.Sub(waiter.Since) < patience/2 { // the former wait may be listed late, and until it is retracted
			if len(result) > 0 {
				t.Fatalf("get with a wait: %v before it was listed", <-result)
			}
			for found, err := range place.client.Waiters(t.Context(), applock.WaitersRequest{}) {
				if err != nil {
					t.Fatal(err)
				}
				waiter = found
			}
		}
		if waiter.Owner != asmith || waiter.Until.Sub(waiter.Since) > patience || waiter.Client == "" {
			t.Errorf("listed as waiting: %+v, want %s for what is left of %s", waiter, asmith, patience)
		}
		if released, err := place.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: nightly, Operator: "JDOE"}}); err != nil || released != applock.OutcomeReleased {
			t.Fatalf("release: %v, %v", released, err)
		}
		requireServed(t, result)
		if lock, err := place.client.Inquire(t.Context(), nightly); err != nil || lock.Owner != asmith {
			t.Errorf("inquire: %v, %v, want %s", lock, err, asmith)
		}
	})
}

// Goal: leases are renewed while the program has its whole pool for itself, for longer than they last. Method: a pool of one
// connection on PostgreSQL, and of two on MySQL and MariaDB, of which one is kept for renewals; who works with the others does
// so until the lock's end is later than its TTL.
func TestHeavyRenewalsBesideABusyPool(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	occupied := func(t *testing.T, client *applock.Client, occupy func()) {
		t.Helper()
		lease, err := client.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		await := func(end time.Time) {
			for lease.Err() == nil && lease.ExpiresAt().Before(end) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		first := lease.ExpiresAt()
		await(first.Add(time.Second))
		occupy()
		await(first.Add(ttl + 3*time.Second))
		if err := lease.Err(); err != nil {
			t.Errorf("lost beside a busy pool: %v", err)
		}
	}
	t.Run(onPostgres, func(t *testing.T) {
		t.Parallel()
		config, err := pgxpool.ParseConfig(newRealPlace(t, onPostgres).dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.MaxConns = 1
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		client := testclient.Postgres(t, pool)
		occupied(t, client, func() {
			conn, err := pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				conn.Release()
				_ = client.Close()
				pool.Close()
			})
		})
	})
	for _, product := range []string{onMariaDB, onMySQL} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, product)
			place.handle.SetMaxOpenConns(2)
			client, err := mysql.New(place.handle, mysql.Config{})
			if err != nil {
				t.Fatal(err)
			}
			occupied(t, client, func() {
				conn, err := place.handle.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = conn.Close()
					_ = client.Close()
				})
			})
		})
	}
}

// Goal: neither a lease nor a waiter holds a connection. Method: twenty of each through a pool of one connection; the
// server counts, and the pool still answers.
func TestNoConnectionPinned(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onPostgres)
	config, err := pgxpool.ParseConfig(place.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["application_name"] = "counted"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	client := testclient.Postgres(t, pool)
	defer func() { _ = client.Close() }()
	var results []<-chan error
	var leases []applock.Lease
	for id := range 20 {
		request := applock.AcquireRequest{Object: account(id), MaxHold: time.Hour, TTL: time.Minute}
		lease, err := client.Acquire(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
		results = append(results, waiting(t, place, client, request))
	}
	// One for calls, one for messages and one for renewals; besides those that a call has given up, until the server notices.
	for place.count(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'") > 3 {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := client.Inquire(t.Context(), account(0)); err != nil {
		t.Errorf("a call meanwhile: %v", err)
	}
	for i, lease := range leases {
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		requireServed(t, results[i])
	}
}

// Goal: get with a wait goes on while another transaction has the row, whatever the database says after a second of that,
// and tells in the end that nobody was seen to hold it. Method: a get in a transaction that is rolled back during the wait,
// and one that is still open in the end.
func TestGetWaitsForTransactions(t *testing.T) {
	t.Parallel()
	for _, product := range []string{onPostgres, onMariaDB, onMySQL} { // on SQLite each call waits for all writers of the file
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			getBesideTransaction(t, newRealPlace(t, product))
		})
	}
}

func getBesideTransaction(t *testing.T, place realPlace) {
	t.Helper()
	jdoe, asmith := applock.Owner{Operator: "JDOE"}, applock.Owner{Operator: "ASMITH"}
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: jdoe}); err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: nightly, Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.WithSQLTx(tx).Get(t.Context(), applock.GetRequest{Object: nightly, Owner: jdoe}); err != nil {
		t.Fatal(err)
	}
	_, err = place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: asmith, MaxWait: 1500 * time.Millisecond})
	if !errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrHeld) {
		t.Errorf("get with a wait beside an open transaction: %v, want ErrBusy", err)
	}
	rolledBack := make(chan error, 1)
	time.AfterFunc(1500*time.Millisecond, func() { rolledBack <- tx.Rollback() })
	grant, err := place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: asmith, MaxWait: patience})
	if err != nil || grant.Outcome != applock.OutcomeAcquired {
		t.Errorf("get with a wait until the transaction ends: %v, %v", grant.Outcome, err)
	}
	// The transaction's context must not end before its answer has come.
	if err := <-rolledBack; err != nil {
		t.Error(err)
	}
}

// Goal: a waiter whose row is gone, after a failover or a cleanup, is listed again and served. Method: delete it.
func TestDeletedWaiterIsListedAgain(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		request := applock.AcquireRequest{Object: nightly, MaxHold: time.Hour}
		lease, err := place.client.Acquire(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		result := waiting(t, place, onPlace(t, place.dsn), request)
		place.exec(t, "DELETE FROM "+place.locks+"_waiter")
		for len(result) == 0 && countWaiters(t, place.dsn, "") == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		requireServed(t, result)
	})
}
