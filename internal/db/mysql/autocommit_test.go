package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/inspect"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// withoutAutocommit is the setting of a pool whose program commits itself.
func withoutAutocommit(config *driver.Config) {
	config.ParseTime, config.InterpolateParams = true, true
	config.Params = map[string]string{"autocommit": "0"}
}

// Goal: of two operators one gets an object, others see it until its release, and leases, purges and rehearsals work, wherever autocommit is
// switched off; no call leaves a transaction open on a caller's connection, or changes its setting. Method: clients by DSN, and on pools in
// which a read of the program's own has left an old view of the data.
func TestHeavyWithoutAutocommit(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]string{"DSN": "autocommit=0", "Capitals": "Autocommit=0&AUTOCOMMIT=off", "Last": "wait_timeout=99,autocommit%3D0", "Pool": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, product string) {
				t.Helper()
				place := lentPlace(t, product)
				var both [2]*applock.Client
				readBefore := func() {}
				for i := range both {
					if option != "" {
						both[i] = testclient.Open(t, place.DSN+"?"+option, "", nil)
						continue
					}
					pool := testdb.OpenMySQL(t, place.DSN, withoutAutocommit)
					pool.SetMaxOpenConns(2) // one is kept for renewals
					readBefore = func() { mustQuery(t, pool, "SELECT * FROM appl_lock") }
					readBefore()
					both[i] = testclient.MySQL(t, pool)
					t.Cleanup(func() { requireIdle(t, pool) })
				}
				excludes(t, place, both[0], both[1])
				leasesAndPurges(t, place, both[1], readBefore)
			})
		})
	}
}

// requireIdle shows that no connection of a pool without autocommit has another setting or an open transaction.
func requireIdle(t *testing.T, pool *sql.DB) {
	t.Helper()
	for range pool.Stats().OpenConnections {
		conn, err := pool.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		var isOn bool
		err = conn.QueryRowContext(context.Background(), "SELECT @@autocommit").Scan(&isOn)
		_, inTx := conn.ExecContext(context.Background(), "SET TRANSACTION READ WRITE") // is refused in a transaction
		if err != nil || inTx != nil || isOn {
			t.Errorf("autocommit is %t, %v, %v, want false and no transaction", isOn, err, inTx)
		}
	}
}

// excludes shows that two operators exclude each other, and what place, in autocommit, sees of it.
func excludes(t *testing.T, place contract.Place, anna, bert *applock.Client) {
	t.Helper()
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "ANNA"}}
	grant, err := anna.Get(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.Owner.Operator = "BERT"
	if _, err := bert.Get(t.Context(), request); !errors.Is(err, applock.ErrHeld) {
		t.Fatalf("the second operator's get: %v, want ErrHeld", err)
	}
	requireHeld(t, place.Driver, "1", true)
	if _, err := anna.Release(t.Context(), applock.ReleaseRequest{Key: grant.Key()}); err != nil {
		t.Fatal(err)
	}
	requireHeld(t, place.Driver, "1", false)
}

// leasesAndPurges shows that leases begin together, are renewed and end, and that a purge and a rehearsal remove their rows.
func leasesAndPurges(t *testing.T, place contract.Place, client *applock.Client, readBefore func()) {
	t.Helper()
	readBefore()
	leases, err := client.AcquireAll(t.Context(), applock.AcquireAllRequest{
		Objects: []applock.Object{{Type: "customer", ID: "2"}, {Type: "customer", ID: "3"}}, MaxHold: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	requireHeld(t, place.Driver, "3", true)
	if err := errors.Join(leases.Leases()[1].Renew(t.Context()), leases.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	requireHeld(t, place.Driver, "3", false)
	if err := place.Advance(t.Context(), 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	readBefore()
	if purged, err := client.Purge(t.Context(), applock.PurgeRequest{OlderThan: 24 * time.Hour}); err != nil || purged != 3 {
		t.Errorf("%d rows purged, %v, want 3", purged, err)
	}
	if played, err := inspect.Rehearse(t.Context(), client, time.Minute); err != nil || played.Failure != "" {
		t.Errorf("rehearsal: %+v, %v", played, err)
	}
	if left := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock"); left != "0" {
		t.Errorf("%s rows are left", left)
	}
	if err := client.Close(); err != nil { // ends what it keeps for renewals
		t.Error(err)
	}
}

// Goal: a call on a connection in autocommit is one statement, after one look at each connection, and connections that have ended are
// forgotten. Method: the session's count of statements; a pool that ends each connection after its call.
func TestAutocommitIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	const calls = 40
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		pool := oneConnection(t, lentPlace(t, product).DSN, func(config *driver.Config) { config.ParseTime, config.InterpolateParams = true, true })
		own := clients.Driver(testclient.MySQL(t, pool))
		for _, want := range []int{calls + 1, calls} { // the first time with the look
			before := status(t, pool, "Questions")
			for range calls {
				requireHeld(t, own, "1", false)
			}
			if got := status(t, pool, "Questions") - before - 1; got != want {
				t.Errorf("%d statements for %d calls, want %d", got, calls, want)
			}
		}
		pool.SetMaxIdleConns(0)
		for range calls {
			requireHeld(t, own, "1", false)
		}
		if kept := mysql.ConnectionsKnown(own); kept > calls/2 {
			t.Errorf("%d connections are remembered, after %d have ended", kept, calls)
		}
	})
}
