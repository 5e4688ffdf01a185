package postgres_test

import (
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
)

// fillEach fills all tables with $1 rows each, live, and 10,000 policies at least.
func fillEach() []string {
	return []string{
		`INSERT INTO applock.appl_lock SELECT 'customer', n, 'JDOE' || n % 1000, '', n, now(), now(), 3600, now() + interval '1 hour'
			FROM generate_series(1, $1::int) AS n`,
		`INSERT INTO applock.appl_lock_waiter SELECT 'customer', n, 'ASMITH' || n % 1000, '', 'p' || n % 1000, now(), NULL, now() + interval '1 hour', 'JDOE'
			FROM generate_series(1, $1::int) AS n`,
		`INSERT INTO applock.appl_lock_ask SELECT 'customer', n, 'BROWN' || n % 1000, '', 'tab', '', now(), NULL, now() + interval '1 hour',
			'JDOE' || n % 1000, n, NULL, 'LATER', '', now() FROM generate_series(1, $1::int) AS n`,
		`INSERT INTO applock.appl_lock_viewer SELECT 'customer', n, 'VIEWER' || n % 1000, '', 'tab', 'VIEWING', now(), now(), now() + interval '1 hour'
			FROM generate_series(1, $1::int) AS n`,
		`INSERT INTO applock.appl_lock_event (event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason)
			SELECT now(), 'customer', n, 'TRANSFERRED', 'BOSS', '', '', 'OLD' || n % 1000, '', 'JDOE' || n % 1000, '', n, n + 1, 'why'
			FROM generate_series(1, $1::int) AS n`,
		`INSERT INTO applock.appl_lock_policy (object_type, take_reason_fl, history_level, presence_fl)
			SELECT 'type' || n, 'N', 'CHANGES', 'N' FROM generate_series(1, greatest($1::int / 100, 10000)) AS n`,
	}
}

// Goal: among a million locks, waiters, events, viewers and requests and 10,000 policies each operation on one object, and each page,
// handles a few rows, with statistics of a time when the tables were empty. Method: count the rows that the statements inside handle.
// The times are told, not judged. A purge has to find what is old.
func TestPlansOfViewsAmongAMillionOfEach(t *testing.T) {
	t.Parallel()
	rows := testdb.Rows(t, plannedRows)
	dsn := testdb.Postgres(t)
	newPlace(t, dsn)
	e := newExplained(t, dsn)
	tables := []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"}
	for _, table := range tables {
		call(t, e.pool, "ALTER TABLE applock."+table+" SET (autovacuum_enabled = off)")
		call(t, e.pool, "ANALYZE applock."+table)
	}
	for _, fill := range fillEach() {
		call(t, e.pool, fill, rows)
	}
	const few, page = 200, 100
	// Of each operator there is a thousandth.
	const perRow = 30
	own := perRow*rows/1000 + few
	for _, test := range []measuredCall{
		{"get that is refused", few, "SELECT * FROM applock.get_appl_lock_row('customer', '500', 'OTHER', NULL, 60)", nil, ""},
		{"get that renews", few, "SELECT * FROM applock.get_appl_lock_row('customer', '500', 'JDOE500', NULL, 60)", nil, ""},
		{"get of a type with a policy", few, "SELECT * FROM applock.get_appl_lock_row('type50', '1', 'OTHER', NULL, 60)", nil, ""},
		{"inquire", few, "SELECT * FROM applock.inquire_appl_lock_row('customer', '500')", nil, ""},
		{"assert", few, "SELECT * FROM applock.assert_appl_lock_row('customer', '501', 'JDOE501', 501)", nil, ""},
		{"note", few, "SELECT * FROM applock.note_appl_lock_row('customer', '501', 'JDOE501', NULL, 'why')", nil, ""},
		{"ask", few, "SELECT * FROM applock.ask_appl_lock_row('customer', '502', 'OTHER', NULL, 'tab', NULL, NULL)", nil, ""},
		{"transfer", few, "SELECT * FROM applock.transfer_appl_lock_row('customer', '503', 'JDOE503', 'ASMITH', '', NULL, NULL, NULL)", nil, ""},
		{"take", few, "SELECT * FROM applock.take_appl_lock_row('customer', '504', 'BOSS', '', 'why', 504, NULL)", nil, ""},
		{"release", few, "SELECT * FROM applock.release_appl_lock_row('customer', '505', 'JDOE505', NULL, NULL, NULL)", nil, ""},
		{"poll", own, "SELECT * FROM applock.poll_appl_locks('p1', 100)", nil, ""},
		{"inbox", 4 * own, "SELECT * FROM applock.inbox_appl_locks('JDOE7', NULL, 100)", nil, ""},
		{"purge with nothing to remove", 5 * rows, "SELECT * FROM applock.purge_appl_locks_row(86400, $1)", []any{page}, ""},
	} {
		began := time.Now()
		handled := e.handledRows(t, test.query, test.args...)
		t.Logf("%s: %d rows, %s", test.name, handled, time.Since(began).Round(100*time.Microsecond))
		if handled > test.atMost {
			t.Errorf("%s handles %d rows, want at most %d", test.name, handled, test.atMost)
		}
	}
}
