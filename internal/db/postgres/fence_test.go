package postgres_test

import (
	"testing"

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
