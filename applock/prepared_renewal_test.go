package applock_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: a renewal of nothing leaves a connection that is for renewals only. Method: afterwards the pool has a connection in use, or PostgreSQL has
// a session beside that of the pool.
func TestRenewalsAreMadeReady(t *testing.T) {
	t.Parallel()
	makeReady := func(t *testing.T, client *applock.Client) {
		t.Helper()
		t.Cleanup(func() { _ = client.Close() })
		if answers, err := clients.Driver(client).RenewApplLocks(t.Context(), db.RenewApplLocksParams{}); err != nil || len(answers) > 0 {
			t.Fatalf("a renewal of nothing: %v, %v", answers, err)
		}
	}
	t.Run(onPostgres, func(t *testing.T) {
		t.Parallel()
		config, err := pgxpool.ParseConfig(testclient.Lent(t, onPostgres))
		if err != nil {
			t.Fatal(err)
		}
		config.MaxConns = 1
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		makeReady(t, testclient.Postgres(t, pool))
		var sessions int
		err = pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%renew_appl_locks%' AND pid <> pg_backend_pid()").Scan(&sessions)
		if err != nil || sessions != 1 {
			t.Errorf("%d sessions for renewals, %v, want one", sessions, err)
		}
	})
	for _, product := range []string{onMariaDB, onMySQL} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, product)
			place.handle.SetMaxOpenConns(2)
			makeReady(t, testclient.MySQL(t, place.handle))
			if used := place.handle.Stats().InUse; used != 1 {
				t.Errorf("%d connections are in use, want one", used)
			}
		})
	}
}
