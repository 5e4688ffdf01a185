package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Goal: the ttl that a NULL keeps is the one that was asked for, whatever the row's timestamps say, as after a clock that was set back:
// also in a trigger, where time stands still. Method: rows whose timestamps were moved, and what get, transfer and take answer and store.
func TestKeptTTLIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	for _, moved := range []string{
		"lock_ts = lock_ts", "lock_ts = lock_ts + interval '1 hour'", "lock_ts = expires_ts + interval '1 hour'",
		"acquired_ts = acquired_ts + interval '1 day', lock_ts = lock_ts + interval '1 day', expires_ts = expires_ts + interval '1 day'",
	} {
		for _, call := range []string{
			"SELECT p_outcome = 'RENEWED', p_seconds_left FROM applock.get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL)",
			"SELECT p_outcome = 'TAKEN', p_seconds_left FROM applock.take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)",
			"SELECT p_outcome = 'TRANSFERRED', p_seconds_left FROM applock.transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', NULL, NULL, NULL, NULL)",
		} {
			inTx(t, pool, func(tx pgx.Tx) {
				execute(t, tx, "CALL applock.get_appl_lock('customer', '1', 'JDOE', '', 60)")
				execute(t, tx, "UPDATE applock.appl_lock SET "+moved)
				version := value[int64](t, tx, microseconds("lock_ts")+" FROM applock.appl_lock")
				before := value[int64](t, tx, microseconds("clock_timestamp()"))
				var granted bool
				var left int64
				if err := tx.QueryRow(t.Context(), call).Scan(&granted, &left); err != nil {
					t.Fatal(err)
				}
				if !granted || left != 60 {
					t.Errorf("%s: %s\nanswers %t and %d s, want true and 60 s", moved, call, granted, left)
				}
				after := value[int64](t, tx, microseconds("clock_timestamp()"))
				stored := value[int64](t, tx, microseconds("expires_ts")+" FROM applock.appl_lock")
				if stored < before+60_000_000 || stored > after+60_000_000 {
					t.Errorf("%s: %s\nstores %d, want a minute after a moment between %d and %d", moved, call, stored, before, after)
				}
				if now := value[int64](t, tx, microseconds("lock_ts")+" FROM applock.appl_lock"); now <= version {
					t.Errorf("%s: %s\nsets lock_ts from %d to %d: it must grow", moved, call, version, now)
				}
			})
		}
	}
}

// Goal: each get and each renewal is a version of its own, also where the clock does not go on. Method: a clock_timestamp that stands
// still, in front of the server's; two gets and two renewals, each of which must change the row.
func TestRenewalsWhileTimeStandsStill(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	const still = "CREATE FUNCTION applock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2031-01-01' $$"
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, still)
		for _, routine := range []string{"get_appl_lock_row(text, text, text, text, bigint, text)", "renew_appl_locks(text)"} {
			execute(t, tx, "ALTER FUNCTION applock."+routine+" SET search_path = applock, pg_catalog, pg_temp")
		}
		versions := map[int64]bool{}
		read := func() {
			versions[value[int64](t, tx, microseconds("lock_ts")+" FROM applock.appl_lock")] = true
		}
		var fence int64
		for range 3 {
			fence = value[int64](t, tx, "SELECT p_fence FROM applock.get_appl_lock_row('customer', '1', 'JDOE', NULL, 60)")
			read()
		}
		for range 2 {
			grants := fmt.Sprintf(`[{"object_type":"customer","object_id":"1","operator_id":"JDOE","fence":%d,"ttl_seconds":60}]`, fence)
			if outcome := value[string](t, tx, "SELECT outcome FROM applock.renew_appl_locks($1)", grants); outcome != "RENEWED" {
				t.Errorf("a renewal answers %s", outcome)
			}
			read()
		}
		if len(versions) != 5 {
			t.Errorf("three gets and two renewals leave %d versions, want 5: %v", len(versions), versions)
		}
	})
}

// microseconds is the beginning of a query for a time as a number.
func microseconds(time string) string {
	return "SELECT (1000000 * extract(epoch FROM " + time + "))::bigint"
}
