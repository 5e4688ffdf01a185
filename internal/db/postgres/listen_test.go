package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	postgresclient "github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres"
	"github.com/applock/applock/internal/testing/testdb"
)

func listen(t *testing.T, driver db.Driver) db.Listener {
	t.Helper()
	listening, err := driver.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listening.Close() })
	return listening
}

func requireNext(t *testing.T, listening db.Listener, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), messageLimit)
	defer cancel()
	if got, err := listening.Next(ctx); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// Goal: a listener receives the releases in its schema, even those that come before it asks, and not its own test message. Method: releases
// with waiters.
func TestListen(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	listening := listen(t, clients.Driver(testclient.Postgres(t, pool)))
	for _, id := range []string{"1", "2", "3"} {
		call(t, pool, getCall, id, "JDOE")
		call(t, pool, announceCall, id, "ASMITH")
		call(t, pool, releaseCall, id, "JDOE")
	}
	requireNext(t, listening, ":p1")
	requireNext(t, listening, "customer:1")
	requireNext(t, listening, ":p1")
	requireNext(t, listening, "customer:2")
	waiting, cancel := context.WithTimeout(t.Context(), time.Microsecond)
	defer cancel()
	<-waiting.Done()
	if got, err := listening.Next(waiting); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q, %v, want the end of the context", got, err)
	}
	requireNext(t, listening, ":p1")
	requireNext(t, listening, "customer:3") // the end of a context is not that of the connection
	if channels := listeners(t, pool); channels != 1 {
		t.Errorf("%d connections of the database listen to something, want 1", channels)
	}
}

// listeners counts the sessions whose last statement was about listening.
func listeners(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	var count int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE '%LISTEN %' AND pid <> pg_backend_pid()`).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// Goal: the connection is made as the pool makes its own, and belongs to the listener alone. Method: hooks that
// count, a handler of notifications, a pool without a free connection but one.
func TestListenConnectsAsThePool(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var before, after int
	config.MaxConns = 1
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { t.Error("the caller's handler is called") }
	config.BeforeConnect = func(_ context.Context, config *pgx.ConnConfig) error {
		before++
		config.RuntimeParams["application_name"] = "hooked"
		return nil
	}
	config.AfterConnect = func(context.Context, *pgx.Conn) error { after++; return nil }
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	listening := listen(t, clients.Driver(testclient.Postgres(t, pool)))
	if before != 2 || after != 2 {
		t.Errorf("the hooks were called %d and %d times, want twice each", before, after)
	}
	inTx(t, pool, func(tx pgx.Tx) { // the pool's only connection
		call(t, newPool(t, dsn), "SELECT pg_notify('applock_appl_lock', 'customer:1')")
		requireNext(t, listening, "customer:1")
	})
	var hooked int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hooked'").Scan(&hooked); err != nil || hooked != 2 {
		t.Errorf("%d connections of the hook's name, %v, want 2", hooked, err)
	}
	if err := listening.Close(); err != nil {
		t.Error(err)
	}
	cause := errors.New("cause")
	config.AfterConnect = func(context.Context, *pgx.Conn) error { return cause }
	refusing, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(refusing.Close)
	if _, err := clients.Driver(testclient.Postgres(t, refusing)).Listen(t.Context()); !errors.Is(err, cause) {
		t.Errorf("%v, want the hook's error", err)
	}
}

// Goal: where no messages arrive, Listen says so and listens to nothing of ours. Method: a caller's transaction, and
// a pooler that has one session for all: its users would hear the trial, and no release.
func TestNoListen(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	inTx(t, pool, func(tx pgx.Tx) {
		driver := clients.Driver(postgresclient.WithTx(testclient.Postgres(t, pool), tx))
		if _, err := driver.Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
			t.Errorf("in a transaction: %v, want db.ErrNoListen", err)
		}
	})
	pooled := newPool(t, newPooler(t, dsn))
	if _, err := clients.Driver(testclient.Postgres(t, pooled)).Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
		t.Errorf("behind a pooler: %v, want db.ErrNoListen", err)
	}
	rows, err := pooled.Query(t.Context(), "SELECT pg_listening_channels()")
	if err != nil {
		t.Fatal(err)
	}
	channels, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(channels) != 1 || channels[0] == "applock_appl_lock" {
		t.Errorf("the shared session listens to %q, %v, want one trial", channels, err)
	}
}

// Goal: a caller who prepares statements behind a pooler in transaction mode gets an error that says what to set, and with that setting it
// works. Method: two clients in turn on one session, and many at once behind PgBouncer.
func TestPreparedBehindPooler(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	const setting = "default_query_exec_mode=exec"
	get := func(dsn, id string) error {
		client := testclient.Postgres(t, newPool(t, dsn))
		_, err := client.Get(t.Context(), applock.GetRequest{Object: applock.Object{Type: "pooled", ID: id}, Owner: applock.Owner{Operator: "JDOE"}})
		return err
	}
	pooler := newPooler(t, dsn)
	prepared := strings.Replace(pooler, "&"+setting, "", 1)
	if err := get(prepared, "1"); err != nil {
		t.Fatal(err)
	}
	if err := get(prepared, "2"); err == nil || !strings.Contains(err.Error(), setting) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("the second client: %v, want an error that names %s", err, setting)
	}
	for _, id := range []string{"3", "4"} {
		if err := get(pooler, id); err != nil {
			t.Errorf("with %s: %v", setting, err)
		}
	}
	bouncer := testdb.PgBouncer(t, dsn)
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() {
			if err := get(bouncer+"&"+setting, fmt.Sprint("bounced", i)); err != nil {
				t.Errorf("behind PgBouncer with %s: %v", setting, err)
			}
		})
	}
	clients.Wait()
}

// Goal: the same behind the pooler that people use. Method: PgBouncer in transaction mode, several times: it has several
// sessions to choose from.
func TestNoListenBehindPgBouncer(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	config, err := pgxpool.ParseConfig(testdb.PgBouncer(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for range 3 {
		if _, err := clients.Driver(testclient.Postgres(t, pool)).Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
			t.Errorf("%v, want db.ErrNoListen", err)
		}
	}
}

// Goal: a listener whose connection has ended returns an error, whether the server reports the end or not. Method: the server ends the
// session; a network that carries nothing any more.
func TestListenerNoticesTheEnd(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)

	ended := listen(t, clients.Driver(testclient.Postgres(t, pool)))
	call(t, pool, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'UNLISTEN %'")
	if _, err := ended.Next(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the connection", err)
	}

	proxy := newProxy(t, dsn)
	silent := listen(t, clients.Driver(testclient.Postgres(t, newPool(t, proxy.dsn))))
	const grace = 3 * time.Second // a busy machine answers within it
	postgres.Impatient(silent, 50*time.Millisecond, grace)
	call(t, pool, "SELECT pg_sleep(0.3), pg_notify('applock_appl_lock', 'customer:1')")
	requireNext(t, silent, "customer:1") // it has asked in between, and listens still
	proxy.beQuiet()
	began := time.Now()
	if _, err := silent.Next(t.Context()); err == nil || t.Context().Err() != nil {
		t.Errorf("%v, want the end of the connection", err)
	}
	if passed := time.Since(began); passed < grace {
		t.Errorf("given up after %s, want at least %s", passed, grace)
	}
}
