package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Goal: the ttl that a NULL keeps is what the row says in whole seconds, to the nearest, and never less than one: also of
// a row that no operation has left so. Method: rows whose lock_ts was moved, and what get and transfer answer and store.
func TestKeptTTLIsOfWholeSeconds(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	for _, row := range []struct {
		lockTS string
		want   int64
	}{
		{"lock_ts", 60},
		{"lock_ts + interval '1 microsecond'", 60},
		{"lock_ts + interval '499999 microseconds'", 60},
		{"lock_ts + interval '500001 microseconds'", 59},
		{"expires_ts - interval '1 microsecond'", 1},
		{"expires_ts", 1},
		{"expires_ts + interval '1 hour'", 1},
	} {
		for _, call := range []string{
			"SELECT p_outcome = 'RENEWED', p_seconds_left FROM applock.get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL)",
			"SELECT p_outcome = 'TAKEN', p_seconds_left FROM applock.take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)",
			"SELECT p_outcome = 'TRANSFERRED', p_seconds_left FROM applock.transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', NULL, NULL, NULL, NULL)",
		} {
			inTx(t, pool, func(tx pgx.Tx) {
				execute(t, tx, "CALL applock.get_appl_lock('customer', '1', 'JDOE', '', 60)")
				execute(t, tx, "UPDATE applock.appl_lock SET lock_ts = "+row.lockTS)
				before := value[int64](t, tx, microseconds("clock_timestamp()"))
				var granted bool
				var left int64
				if err := tx.QueryRow(t.Context(), call).Scan(&granted, &left); err != nil {
					t.Fatal(err)
				}
				if !granted || left != row.want {
					t.Errorf("lock_ts = %s: %s\nanswers %t and %d s, want true and %d s", row.lockTS, call, granted, left, row.want)
				}
				after := value[int64](t, tx, microseconds("clock_timestamp()"))
				stored := value[int64](t, tx, microseconds("expires_ts")+" FROM applock.appl_lock")
				if want := row.want * 1_000_000; stored < before+want || stored > after+want {
					t.Errorf("lock_ts = %s: %s\nstores %d, want %d s after a moment between %d and %d", row.lockTS, call, stored, row.want, before, after)
				}
			})
		}
	}
}

// microseconds is the beginning of a query for a time as a number.
func microseconds(time string) string {
	return "SELECT (1000000 * extract(epoch FROM " + time + "))::bigint"
}
