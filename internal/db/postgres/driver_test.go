package postgres_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/postgres"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// The contract, through the façade, through CALL and through the row functions.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Exercise(t, backend(t))
}

func TestHeavyContract(t *testing.T) {
	t.Parallel()
	contract.ExerciseLong(t, backend(t))
}

func backend(t *testing.T) contract.Backend {
	t.Helper()
	return contract.Backend{
		New:    contract.NewPlaces(t, newPlace, emptied...).Take,
		Empty:  func(t testing.TB) func() *applock.Client { return testclient.Opener(t, testdb.Postgres(t)) },
		Ways:   []string{"facade", "call", "row"},
		Levels: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},

		JSONGrants:   true,
		ConvertsJSON: true,
	}
}

// emptied are the statements that make a place as good as new.
var emptied = []string{
	"TRUNCATE applock.appl_lock, applock.appl_lock_waiter, applock.appl_lock_ask, applock.appl_lock_viewer, applock.appl_lock_event, applock.appl_lock_policy",
	"UPDATE applock.appl_lock_fence SET fence = 0", "DROP TABLE IF EXISTS protected",
}

// newPlace is a place in a new database, where applock is installed in the default schema.
func newPlace(t testing.TB) contract.Place {
	t.Helper()
	dsn := testclient.InstalledPostgres(t)
	return newPlaceIn(t, dsn, dsn)
}

// newPlaceIn is a place in the database of a DSN. What a test sends as SQL of its own goes by another DSN of that database.
func newPlaceIn(t testing.TB, dsn, bySQL string) contract.Place {
	t.Helper()
	pool := newPool(t, dsn)
	client := testclient.Postgres(t, pool)
	if bySQL != dsn {
		pool = newPool(t, bySQL)
	}
	handle := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { _ = handle.Close() })
	return contract.Place{
		Client: client,
		Driver: clients.Driver(client),
		DSN:    dsn,
		SQL:    handle,
		Table:  "applock.appl_lock",
		Executors: map[string]scenario.Executor{
			"call": contract.Postgres(pool, pgx.QueryExecModeExec, contract.PostgresCall),
			"row":  contract.Postgres(pool, pgx.QueryExecModeExec, contract.PostgresRow),
		},
		Advance: func(ctx context.Context, duration time.Duration) error {
			_, err := pool.Exec(ctx, `
				WITH locks AS (
					UPDATE applock.appl_lock
					SET acquired_ts = acquired_ts - $1::interval, lock_ts = lock_ts - $1::interval, expires_ts = expires_ts - $1::interval,
						released_ts = released_ts - $1::interval
				), events AS (
					UPDATE applock.appl_lock_event SET event_ts = event_ts - $1::interval
				), viewers AS (
					UPDATE applock.appl_lock_viewer
					SET since_ts = since_ts - $1::interval, seen_ts = seen_ts - $1::interval, expires_ts = expires_ts - $1::interval
				), asks AS (
					UPDATE applock.appl_lock_ask
					SET since_ts = since_ts - $1::interval, until_ts = until_ts - $1::interval, expires_ts = expires_ts - $1::interval,
						shown_ts = shown_ts - $1::interval, answered_ts = answered_ts - $1::interval,
						edited_ts = edited_ts - $1::interval
				)
				UPDATE applock.appl_lock_waiter
				SET since_ts = since_ts - $1::interval, until_ts = until_ts - $1::interval, expires_ts = expires_ts - $1::interval`,
				duration)
			return err
		},
		Waiting: func(ctx context.Context) (int, error) {
			var waiting int
			err := pool.QueryRow(ctx, `SELECT count(DISTINCT a.pid)
				FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid AND NOT l.granted
				WHERE a.datname = current_database()`).Scan(&waiting)
			return waiting, err
		},
		Interpret:         postgres.InterpretError,
		SnapshotConflicts: aboveReadCommitted,
		KeepsView:         aboveReadCommitted,
		ChecksView:        aboveReadCommitted,
	}
}

func aboveReadCommitted(level sql.IsolationLevel) bool { return level > sql.LevelReadCommitted }

func newPool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 12
	config.ConnConfig.RuntimeParams["timezone"] = "Asia/Kolkata"                              // a query that forgets UTC answers another time
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // it depends on the time
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
