package postgres_test

import (
	"testing"

	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: an inbox reads neither table from end to end, whatever the statistics say: events and waiters by their indexes, locks by their key.
// Method: a million nobody's rows are not needed: the server counts scans of tables.
func TestInboxReadsByIndexOnly(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	fillBoth(t, e.pool, plannedRows, live)
	call(t, e.pool, "UPDATE applock.appl_lock_waiter SET holder_id = CASE WHEN object_id::int % 2000 = 0 THEN 'JDOE' ELSE 'OTHER' END")
	for _, statistics := range []string{"SELECT 1", analyze} {
		call(t, e.pool, statistics)
		if rows := e.handledRows(t, "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, NULL)"); rows > 200 {
			t.Errorf("after %s an inbox with ten waiters handles %d rows, want at most 200", statistics, rows)
		}
	}
}

// Goal: after a restore into a cluster with lower transaction ids an inbox tells each event once, and later ones, too. Method: events whose
// next_xid is far ahead, pages of three, and one more event of this cluster.
func TestInboxOfARestoredDump(t *testing.T) {
	t.Parallel()
	pool := newExplained(t, testclient.InstalledPostgres(t)).pool
	const restored = 10
	call(t, pool, `INSERT INTO applock.appl_lock_event
			(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason, next_xid)
		SELECT now(), 'customer', n, 'TRANSFERRED', 'BOSS', '', '', 'OLD', '', 'JDOE', '', n, n + 1, '', '4000000000000'::xid8
		FROM generate_series(1, $1::int) AS n`, restored)
	told, position := 0, ""
	read := func() {
		t.Helper()
		for again := true; again; {
			var rows int
			if err := pool.QueryRow(t.Context(), `SELECT count(*), coalesce(max(next_position), $1)
				FROM applock.inbox_appl_locks('JDOE', $1, 3)`, position).Scan(&rows, &position); err != nil {
				t.Fatal(err)
			}
			told, again = told+rows, rows > 0
		}
	}
	if read(); told != restored {
		t.Errorf("told %d, want each of %d once", told, restored)
	}
	call(t, pool, "SELECT applock.get_appl_lock_row('customer', '1', 'JDOE')")
	call(t, pool, "SELECT applock.take_appl_lock_row('customer', '1', 'BOSS', NULL, 'urgent')")
	if read(); told != restored+1 {
		t.Errorf("told %d with a later event, want %d", told, restored+1)
	}
}
