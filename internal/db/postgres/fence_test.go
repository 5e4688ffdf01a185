package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sleepBeforeInsert makes an insertion into appl_lock wait until another session has finished, however long that takes: it holds an advisory lock.
const sleepBeforeInsert = `CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
	$$ BEGIN IF new.operator_id = 'SLOW' THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN new; END $$;
	CREATE TRIGGER slow BEFORE INSERT ON applock.appl_lock FOR EACH ROW EXECUTE FUNCTION public.slow()`

// Goal: a fence never falls, although a purge removes the row of a later grant between a get's clock and its insertion, however short
// that is. Method: a trigger, which PostgreSQL runs after it has computed the row, lets the get wait while another operator gets,
// releases and is purged; with the server's clock as it is, and with a grant that began ahead of it, as before a clock was set back.
func TestFenceNeverFallsWhileAnInsertWaits(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]string{
		"clock goes on":      "SELECT 1",
		"clock was set back": "UPDATE applock.appl_lock_fence SET fence = fence + 3600000000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := migratedPool(t)
			call(t, pool, sleepBeforeInsert)
			slow := make(chan int64, 1)
			var former int64
			inTx(t, pool, func(tx pgx.Tx) {
				execute(t, tx, "SELECT pg_advisory_xact_lock(42)")
				go func() { slow <- fenceOf(t, pool, "SLOW") }()
				for waiting := false; !waiting; {
					waiting = value[bool](t, tx, `SELECT EXISTS (SELECT FROM pg_locks
						WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
				}
				former = fenceOf(t, pool, "JDOE")
				call(t, pool, releaseCall, "1", "JDOE")
				call(t, pool, "UPDATE applock.appl_lock SET released_ts = released_ts - interval '1 hour', expires_ts = expires_ts - interval '1 day'")
				call(t, pool, "CALL applock.purge_appl_locks(1)")
				call(t, pool, meanwhile)
				if err := tx.QueryRow(t.Context(), "SELECT fence FROM applock.appl_lock_fence").Scan(&former); err != nil {
					t.Fatal(err)
				}
				execute(t, tx, "SELECT pg_advisory_unlock_all()")
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if fence := <-slow; fence <= former {
				t.Errorf("the get that waited has the fence %d, the former grant had %d", fence, former)
			}
		})
	}
}

func fenceOf(t *testing.T, pool *pgxpool.Pool, operator string) int64 {
	t.Helper()
	var fence int64
	const get = "SELECT p_fence FROM applock.get_appl_lock_row('customer', '1', $1, NULL, 3600)"
	if err := pool.QueryRow(t.Context(), get, operator).Scan(&fence); err != nil {
		t.Error(err)
	}
	return fence
}

// Goal: a fence grows across a purge and a clock that was set back. Method: a grant whose fence lies a moment ahead of the clock of now is
// what a clock set back leaves behind; purge keeps the greatest fence that it removes, and the next grant is above it. A row whose fence
// still lies ahead is not removed.
func TestFenceGrowsAcrossAPurge(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	former := fenceOf(t, pool, "JDOE")
	call(t, pool, releaseCall, "1", "JDOE")
	call(t, pool, "UPDATE applock.appl_lock SET released_ts = released_ts - interval '1 hour'")
	call(t, pool, "UPDATE applock.appl_lock SET fence = fence + 3600000000")
	call(t, pool, "CALL applock.purge_appl_locks(1)")
	if rows := column(t, pool, "SELECT object_id FROM applock.appl_lock"); len(rows) != 1 {
		t.Fatal("a purge has removed a row whose fence lies ahead")
	}
	call(t, pool, "UPDATE applock.appl_lock SET fence = $1", former)
	call(t, pool, "CALL applock.purge_appl_locks(1)")
	if kept := column(t, pool, "SELECT (fence - $1::bigint)::text FROM applock.appl_lock_fence", former); len(kept) != 1 || kept[0] != "0" {
		t.Fatalf("after a purge the greatest fence removed lies %v beside that of the row", kept)
	}
	ahead := former + time.Hour.Microseconds()
	call(t, pool, "UPDATE applock.appl_lock_fence SET fence = $1", ahead)
	if fence := fenceOf(t, pool, "ASMITH"); fence <= ahead {
		t.Errorf("the next grant has the fence %d, which is not above %d", fence, ahead)
	}
}

// Goal: a purge of locks leaves the history alone, and a purge of the history leaves for 400 days what tells of purges. Method: old
// events of both kinds, before and after that time.
func TestPurgesStayInTheHistory(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	events := func() []string {
		return column(t, pool, "SELECT event || ' ' || reason FROM applock.appl_lock_history ORDER BY event_id")
	}
	age := func(age string) {
		call(t, pool, "UPDATE applock.appl_lock_event SET event_ts = event_ts - $1::interval", age)
	}
	require := func(what string, want ...string) {
		t.Helper()
		if got := events(); len(got) != len(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		} else {
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
		}
	}
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, "CALL applock.release_appl_lock('customer', '1', 'JDOE', NULL, 'BOSS', 'why')")
	call(t, pool, "UPDATE applock.appl_lock SET released_ts = released_ts - interval '1 hour'")
	age("1 hour")
	call(t, pool, "CALL applock.purge_appl_locks(1, 10000)")
	require("after a purge of locks", "RELEASED why", "PURGED 1")
	age("399 days")
	call(t, pool, "CALL applock.purge_appl_lock_history(1, 10000)")
	call(t, pool, "CALL applock.purge_appl_lock_history(1, 10000)")
	require("after purges of the history", "PURGED 1", "HISTORY_PURGED 1")
	age("2 days")
	call(t, pool, "CALL applock.purge_appl_lock_history(1, 10000)")
	require("after 400 days", "HISTORY_PURGED 1", "HISTORY_PURGED 1")
}
