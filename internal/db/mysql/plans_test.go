package mysql_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
)

const (
	// plannedRows are in each table when an operation is measured, and plannedGrants are asked for.
	plannedRows   = 20000
	plannedGrants = 1000
	plannedPage   = 100
)

// Goal: a key or an index is the only way to a row, whatever the statistics say: nothing reads the table for each grant,
// each waiter or each page, nor more of it with each page. Method: statistics of an empty table, of one row, and of a huge
// table in which no key is worth anything; count the rows that the session reads.
func TestPlansWithTheWorstStatistics(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, prepare := range map[string]func(t *testing.T, handle *sql.DB){
			"of an empty table": func(t *testing.T, handle *sql.DB) {
				t.Helper()
				analyzeBoth(t, handle)
				fillBoth(t, handle, plannedRows)
			},
			"of one row": func(t *testing.T, handle *sql.DB) {
				t.Helper()
				fillBoth(t, handle, 1)
				analyzeBoth(t, handle)
				mustQuery(t, handle, "DELETE FROM appl_lock")
				mustQuery(t, handle, "DELETE FROM appl_lock_waiter")
				fillBoth(t, handle, plannedRows)
			},
			"of worthless keys": func(t *testing.T, handle *sql.DB) {
				t.Helper()
				fillBoth(t, handle, plannedRows)
				analyzeBoth(t, handle)
				mustQuery(t, handle, "UPDATE mysql.innodb_table_stats SET n_rows = 1000000000 WHERE database_name = DATABASE()")
				mustQuery(t, handle, "UPDATE mysql.innodb_index_stats SET stat_value = 1 WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%'")
				mustQuery(t, handle, "FLUSH TABLES appl_lock, appl_lock_waiter")
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				handle := newPlace(t, product).SQL
				for _, table := range []string{"appl_lock", "appl_lock_waiter"} {
					mustQuery(t, handle, "ALTER TABLE "+table+" STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
				}
				prepare(t, handle)
				requireFewReads(t, handle)
			})
		}
	})
}

func analyzeBoth(t *testing.T, handle *sql.DB) {
	t.Helper()
	mustQuery(t, handle, "ANALYZE TABLE appl_lock, appl_lock_waiter")
}

// fillBoth puts so many live locks, with fence 1, and waiters of twenty programs into the tables.
func fillBoth(t *testing.T, handle *sql.DB, rows int) {
	t.Helper()
	mustQuery(t, handle, `INSERT INTO appl_lock
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 DAY
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, rows)
	mustQuery(t, handle, `INSERT INTO appl_lock_waiter
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'ASMITH', '', CONCAT('p', s.slot MOD 20), UTC_TIMESTAMP(6), NULL, UTC_TIMESTAMP(6) + INTERVAL 25 SECOND
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, rows)
}

// requireFewReads measures each operation on one connection. What it may read is proportional to what it is about.
func requireFewReads(t *testing.T, handle *sql.DB) {
	t.Helper()
	conn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	var grants []db.RenewableGrant
	for i := range plannedGrants {
		grants = append(grants, db.RenewableGrant{ObjectType: "customer", ObjectID: fmt.Sprintf("%05d", i*20), OperatorID: "JDOE", Fence: 1, TTLSeconds: 200000})
	}
	const perRow = 40
	for _, test := range []struct {
		name, query string
		args        []any
		rows        int
	}{
		{"renew", renewCall, []any{document(t, grants...)}, plannedGrants},
		{"renew one", renewCall, []any{document(t, grants[:1]...)}, 1},
		{"poll that keeps", "CALL poll_appl_locks('p1', 10000)", nil, plannedGrants},
		{"poll", "CALL poll_appl_locks('p1', 10000)", nil, plannedGrants},
		{"list", "CALL list_appl_locks(NULL, NULL, NULL, 'customer', '10000', ?)", []any{plannedPage}, plannedPage},
		{"list of a type", "CALL list_appl_locks('customer', NULL, NULL, 'customer', '10000', ?)", []any{plannedPage}, plannedPage},
		{"waiters", "CALL list_appl_lock_waiters(NULL, NULL, NULL, NULL, 'customer', '10000', 'A', 'p', ?)", []any{plannedPage}, plannedPage},
		{"let all end", "UPDATE appl_lock SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY", nil, plannedRows},
		{"let all waiters end", "UPDATE appl_lock_waiter SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY", nil, plannedRows},
		{"purge", "CALL purge_appl_locks_row(1, ?)", []any{plannedPage}, 2 * plannedPage},
	} {
		before := handledReads(t, conn)
		mustQuery(t, conn, test.query, test.args...)
		reads := handledReads(t, conn) - before
		t.Logf("%s: %d reads", test.name, reads)
		if atMost := perRow*test.rows + 200; reads > atMost {
			t.Errorf("%s reads %d rows, want at most %d", test.name, reads, atMost)
		}
	}
}

// handledReads counts the rows that the session has read, in whatever way.
func handledReads(t *testing.T, conn contract.Querier) int {
	t.Helper()
	reads := 0
	for _, way := range []string{"first", "key", "last", "next", "prev", "rnd", "rnd_next"} {
		reads += status(t, conn, "Handler_read_"+way)
	}
	return reads
}
