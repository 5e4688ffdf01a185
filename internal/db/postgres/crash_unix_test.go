//go:build unix

package postgres_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// crashServer is a PostgreSQL of the test's own, in which nobody writes the log behind its back: the process that does has been
// stopped.
type crashServer struct {
	pool      *pgxpool.Pool
	walWriter int
}

const crashSettings = "autovacuum = off\nfsync = on\n"

// newCrashServer makes a server of the test's own.
func newCrashServer(t *testing.T) *crashServer {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), testdb.OwnPostgres(t, crashSettings).DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := &crashServer{pool: pool}
	if _, err := migrate.Up(t.Context(), testclient.Postgres(t, pool), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	// What the migration has left of routines that it replaced, a later look at them would tidy up, and log.
	if _, err := pool.Exec(t.Context(), "VACUUM"); err != nil {
		t.Fatal(err)
	}
	s.stopWALWriter(t)
	return s
}

// await returns when the server answers. Connections of before a crash are thrown away.
func (s *crashServer) await(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for s.pool.Ping(ctx) != nil {
		s.pool.Reset()
		select {
		case <-ctx.Done():
			t.Fatal("the server does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stopWALWriter stops the process that writes what no commit waits for.
func (s *crashServer) stopWALWriter(t *testing.T) {
	t.Helper()
	row := s.pool.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
	if err := row.Scan(&s.walWriter); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.walWriter, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// crash makes the server lose what is not on disk, and returns after its recovery.
func (s *crashServer) crash(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(s.walWriter, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for before := s.walWriter; s.walWriter == before; { // until the new one is there
		s.await(t)
		const ask = "SELECT coalesce(max(pid), $1) FROM pg_stat_activity WHERE backend_type = 'walwriter'"
		if err := s.pool.QueryRow(t.Context(), ask, before).Scan(&s.walWriter); err != nil {
			s.walWriter = before
		}
	}
}

// isFlushed reports whether everything that was committed is on disk.
func (s *crashServer) isFlushed(t *testing.T) bool {
	t.Helper()
	var flushed bool
	row := s.pool.QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()")
	if err := row.Scan(&flushed); err != nil {
		t.Fatal(err)
	}
	return flushed
}

func crashLease(id string, ttl time.Duration) applock.AcquireRequest {
	return applock.AcquireRequest{Object: applock.Object{Type: "customer", ID: id}, MaxHold: time.Hour, TTL: ttl}
}

// Goal: the release of a lease waits for no flush, and nothing else does without: no get, no release of a Client, no release
// within a caller's transaction, and no lease of a client that says FlushReleases. Method: where the log has been flushed to,
// on a server where nobody else flushes it.
func TestOnlyReleasesOfLeasesAreNotFlushed(t *testing.T) {
	t.Parallel()
	server := newCrashServer(t)
	flushing, err := postgres.New(server.pool, postgres.Config{FlushReleases: true})
	if err != nil {
		t.Fatal(err)
	}
	lazy := testclient.Postgres(t, server.pool)
	for client, want := range map[*applock.Client]bool{lazy: false, flushing: true} {
		lease, err := client.Acquire(t.Context(), crashLease("1", 0))
		if err != nil {
			t.Fatal(err)
		}
		if !server.isFlushed(t) {
			t.Error("a get is not on disk")
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := server.isFlushed(t); got != want {
			t.Errorf("the release of a lease is on disk: %t, want %t", got, want)
		}
	}
	get := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "JDOE"}}
	release := applock.ReleaseRequest{Key: applock.Key{Object: get.Object, Operator: "JDOE"}}
	for range 2 { // on connections that have released lazily, too
		if _, err := lazy.Get(t.Context(), get); err != nil {
			t.Fatal(err)
		}
		if _, err := lazy.Release(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		if !server.isFlushed(t) {
			t.Error("the release of a client is not on disk")
		}
	}
	tx, err := server.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	within := postgres.WithTx(lazy, tx)
	if _, err := within.Get(t.Context(), get); err != nil {
		t.Fatal(err)
	}
	if _, err := within.Release(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !server.isFlushed(t) {
		t.Error("the commit of a caller's transaction is not on disk")
	}
}

// Goal: where a session does not wait for the disk, what the façade is told is on it, and the session keeps its level. Method: each way to get a
// lock on such a pool, its renewal and its release; a caller's transaction, which has asked for it, is not. That costs no join, which the
// server would plan with each call, and compile where nested loops are switched off.
func TestSessionsThatDoNotFlush(t *testing.T) {
	t.Parallel()
	server := newCrashServer(t)
	config := server.pool.Config()
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	sent := &calls{}
	config.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	client := testclient.Postgres(t, pool)
	get := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "JDOE"}}
	flushes := func(what string, want bool, err error) {
		t.Helper()
		if got := server.isFlushed(t); err != nil || got != want {
			t.Errorf("%s: %v, on disk: %t, want %t", what, err, got, want)
		}
	}
	_, err = client.Get(t.Context(), get)
	flushes("get", true, err)
	_, err = client.Take(t.Context(), applock.TakeRequest{Object: get.Object, Owner: applock.Owner{Operator: "BOSS"}, Reason: "why"})
	flushes("take", true, err)
	leases, err := client.AcquireAll(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{{Type: "a", ID: "1"}, {Type: "a", ID: "2"}}, MaxHold: time.Hour})
	flushes("leases", true, err)
	flushes("renewal", true, leases.Leases()[0].Renew(t.Context()))
	flushes("release", true, leases.Release(t.Context()))
	err = pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		flushes("a caller's transaction", false, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			_, err := postgres.WithTx(client, tx).Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: get.Object, Operator: "BOSS"}})
			return err
		}))
		var level string
		if err := conn.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&level); err != nil || level != "off" {
			t.Errorf("the session's level is %s, %v", level, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, call := range sent.take() {
		rows, _ := server.pool.Query(t.Context(), "EXPLAIN "+call.statement, call.args...) // CollectRows returns its error
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || strings.Contains(strings.Join(plan, ""), "Nested Loop") {
			t.Errorf("%s: %v, %v", call.name, plan, err)
		}
	}
}

// Goal: a crash of the server undoes at most the release of a lease, whose object is then locked until its TTL ends; and never
// gives an object to two. Method: two leases are released, and one of the objects is taken by another client; the server
// crashes with the release of the other one not on disk.
func TestCrashAfterTheReleaseOfALease(t *testing.T) {
	t.Parallel()
	server := newCrashServer(t)
	client := testclient.Postgres(t, server.pool)
	for _, id := range []string{"taken", "free"} {
		lease, err := client.Acquire(t.Context(), crashLease(id, 3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id == "taken" {
			next := applock.GetRequest{Object: lease.Object(), Owner: applock.Owner{Operator: "ASMITH"}}
			if grant, err := client.Get(t.Context(), next); err != nil || grant.Fence <= lease.Fence() {
				t.Fatalf("get: %+v, %v", grant, err)
			}
		}
	}
	server.crash(t)
	taken, err := client.Inquire(t.Context(), crashLease("taken", 0).Object)
	if err != nil || taken.Owner.Operator != "ASMITH" {
		t.Errorf("the object that was taken after its release is held by %s, %v", taken.Owner, err)
	}
	var fence applock.Fence
	const undone = "SELECT fence FROM appl_lock WHERE object_id = 'free' AND released_ts IS NULL"
	if err := server.pool.QueryRow(t.Context(), undone).Scan(&fence); err != nil {
		t.Fatalf("the release survived, so that the crash shows nothing: %v", err)
	}
	// Acquire waits for the end of the TTL.
	next, err := client.Acquire(t.Context(), crashLease("free", 0))
	if err != nil || next.Fence() <= fence {
		t.Errorf("after the TTL: %v, want a greater fence than %d", err, fence)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
