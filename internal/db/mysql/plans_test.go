package mysql_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
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
func TestHeavyPlansWithTheWorstStatistics(t *testing.T) {
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
				for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask"} {
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

// fillBoth inserts that many live locks with fence 1, and waiters of twenty programs.
func fillBoth(t *testing.T, handle *sql.DB, rows int) {
	t.Helper()
	mustQuery(t, handle, `INSERT INTO appl_lock
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 86400, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, '', 'N', NULL
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, rows)
	mustQuery(t, handle, `INSERT INTO appl_lock_waiter
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'ASMITH', '', CONCAT('p', s.slot MOD 20), UTC_TIMESTAMP(6), NULL, UTC_TIMESTAMP(6) + INTERVAL 25 SECOND, ''
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
	mustQuery(t, conn, `INSERT INTO appl_lock_ask (object_type, object_id, operator_id, department_id, client_id, message, since_ts, until_ts, expires_ts,
			holder_id, fence, shown_ts, answer, answer_reason, answered_ts)
		SELECT 'customer', LPAD(s.slot, 5, '0'), CONCAT('B', s.slot MOD 20), '', 'p', '', UTC_TIMESTAMP(6), NULL, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR,
			CONCAT('H', s.slot MOD 20), 1, NULL, 'LATER', '', UTC_TIMESTAMP(6)
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, plannedRows)
	mustQuery(t, conn, `INSERT INTO appl_lock_policy (object_type, take_reason_fl, history_level, presence_fl)
		SELECT CONCAT('type', s.slot), 'N', 'CHANGES', 'Y' FROM appl_lock_serialize AS s WHERE s.slot < 10000`)
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
		{"permit", "CALL get_appl_lock_permit('room', 'desk', ?, 'JDOE', '', 60)", []any{plannedGrants}, plannedGrants},
		{"poll that keeps", "CALL poll_appl_locks('p1', 10000)", nil, plannedGrants},
		{"poll", "CALL poll_appl_locks('p1', 10000)", nil, plannedGrants},
		{"list", "SELECT * FROM appl_lock_live WHERE (object_type > 'customer' OR object_type = 'customer' AND object_id > '10000') ORDER BY object_type, object_id LIMIT ?", []any{plannedPage}, plannedPage},
		{"one object", "SELECT * FROM appl_lock_live WHERE object_type = 'customer' AND object_id = '10000'", nil, 1},
		{"join of ten", "SELECT * FROM (SELECT 'customer' AS type, LPAD(s.slot * 20, 5, '0') AS id FROM appl_lock_serialize AS s WHERE s.slot < 10) AS c " +
			"JOIN appl_lock_live AS l ON l.object_type = c.type AND l.object_id = c.id", nil, 10},
		{"list of a type", "SELECT * FROM appl_lock_live WHERE (object_type > 'customer' OR object_type = 'customer' AND object_id > '10000') " +
			"AND object_type >= 'customer' AND object_type <= 'customer' ORDER BY object_type, object_id LIMIT ?", []any{plannedPage}, plannedPage},
		{"waiters", "SELECT * FROM appl_lock_waiting WHERE (object_type > 'customer' OR object_type = 'customer' AND object_id > '10000') " +
			"ORDER BY object_type, object_id, operator_id, client_id LIMIT ?", []any{plannedPage}, 2 * plannedPage},
		{"stats", "SELECT * FROM appl_lock_stats", nil, 2 * plannedRows},
		{"inbox", "CALL inbox_appl_locks('JDOE', NULL, 10000)", nil, 2 * plannedRows},
		{"transfers", "CALL transfer_appl_locks('JDOE', NULL, 'ASMITH', '', NULL, NULL, NULL, 'customer', '10000', ?, NULL)", []any{plannedPage}, plannedPage},
		{"transfers of a type", "CALL transfer_appl_locks('JDOE', 'customer', 'ASMITH', '', NULL, NULL, NULL, 'customer', '10000', ?, NULL)", []any{plannedPage}, 2 * plannedPage},
		{"ask", "CALL ask_appl_lock_row('customer', '10001', 'ABEL', NULL, 'p', NULL, NULL)", nil, 1},
		{"ask again", "CALL ask_appl_lock_row('customer', '10001', 'ABEL', NULL, 'p', NULL, NULL)", nil, 1},
		{"answer later", "CALL answer_appl_lock_row('customer', '10001', 'JDOE', 1, 'ABEL', NULL, 'LATER', NULL)", nil, 1},
		{"answer give", "CALL answer_appl_lock_row('customer', '10001', 'JDOE', 1, 'ABEL', NULL, 'GIVE', NULL)", nil, 1},
		{"inbox of who is asked", "CALL inbox_appl_locks('H1', NULL, NULL)", nil, plannedGrants},
		{"inbox of who asks", "CALL inbox_appl_locks('B1', NULL, NULL)", nil, plannedGrants},
		{"asking", "SELECT * FROM appl_lock_asking WHERE (object_type > 'customer' OR object_type = 'customer' AND object_id > '10000') " +
			"ORDER BY object_type, object_id, operator_id, client_id LIMIT ?", []any{plannedPage}, plannedPage},
		{"releases", "CALL release_appl_locks('ASMITH', 'customer', 'BOSS', 'ill', 'customer', '10000', ?, NULL)", []any{plannedPage}, plannedPage},
		{"let all end", "UPDATE appl_lock SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY", nil, plannedRows},
		{"poll of what is free", "CALL poll_appl_locks('p1', 10000)", nil, plannedGrants},
		{"let all waiters end", "UPDATE appl_lock_waiter SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY", nil, plannedRows},
		{"let all requests end", "UPDATE appl_lock_ask SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY", nil, plannedRows},
		{"purge", "CALL purge_appl_locks_row(1, ?)", []any{plannedPage}, 3 * plannedPage},
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

// Goal: an inbox reads of the history what an operator lost or got behind the event that it has seen, and as many of these as it
// answers, whatever the statistics say. Method: a history in which most events are others', and one in which all are the operator's,
// with statistics of an empty table and of worthless keys; count the rows that the session reads.
func TestHeavyInboxReadsTheOperatorsEvents(t *testing.T) {
	t.Parallel()
	const fillEvents = `INSERT INTO appl_lock_event
			(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason)
		SELECT UTC_TIMESTAMP(6), 'customer', slot, 'TRANSFERRED', 'BOSS', '', '', IF(slot MOD ? = 0, 'JDOE', 'OTHER'), '',
			IF(slot MOD ? = 1, 'JDOE', 'ANOTHER'), '', slot, slot + 1, 'why' FROM appl_lock_serialize WHERE slot < ? ORDER BY slot`
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, worthless := range []bool{false, true} {
			handle := newPlace(t, product).SQL
			mustQuery(t, handle, "ALTER TABLE appl_lock_event STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
			mustQuery(t, handle, "ANALYZE TABLE appl_lock_event")
			if worthless {
				mustQuery(t, handle, "UPDATE mysql.innodb_table_stats SET n_rows = 1000000000 WHERE database_name = DATABASE()")
				mustQuery(t, handle, "UPDATE mysql.innodb_index_stats SET stat_value = 1 WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%'")
				mustQuery(t, handle, "FLUSH TABLES appl_lock_event")
			}
			conn, err := handle.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // gives it back to the pool
			for _, history := range []struct {
				what           string
				everyNth       int
				fromTheEnd     int
				maxRows        int
				answers, reads int
			}{
				{"few of many", 2000, plannedRows, 100, 20, 800},
				{"one of many", 2000, 1999, 100, 1, 100},
				{"a page of half", 2, plannedRows, 10, 10, 500},
				{"none of half", 2, 0, 10, 0, 40},
				{"two of half", 2, 2, 10, 2, 120},
			} {
				mustQuery(t, conn, "DELETE FROM appl_lock_event")
				mustQuery(t, conn, fillEvents, history.everyNth, history.everyNth, plannedRows)
				last, err := strconv.Atoi(value(t, conn, "SELECT MAX(event_id) FROM appl_lock_event"))
				if err != nil {
					t.Fatal(err)
				}
				var seen any
				if seenID := last - history.fromTheEnd; seenID > 0 {
					seen = seenID
				}
				const inbox = "CALL inbox_appl_locks('JDOE', ?, ?)"
				mustQuery(t, conn, inbox, seen, history.maxRows) // then its text is in the caches
				answers, reads := 0, 0
				untilUndisturbed(t, conn, 5, func() bool {
					before := handledReads(t, conn)
					answers = len(mustQuery(t, conn, inbox, seen, history.maxRows))
					reads = handledReads(t, conn) - before
					return reads <= history.reads
				})
				if answers != history.answers || reads > history.reads {
					t.Errorf("%s: %d answers, %d rows read, want %d, at most %d", history.what, answers, reads, history.answers, history.reads)
				}
			}
		}
	})
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

// counted is what tells the work of a call: the statements inside it, each of which opens its table anew, the rows that it
// finds by key, reads in order, writes and changes, and what it sorts.
func counted() []string {
	return []string{
		"Com_call_procedure", "Com_set_option", "Com_do", "Com_select", "Com_insert", "Com_update", "Com_delete",
		"Handler_read_key", "Handler_read_first", "Handler_read_next", "Handler_read_rnd_next", "Handler_write", "Handler_update", "Handler_delete",
		"Sort_rows",
	}
}

// Goal: an operation on one object is a fixed number of statements, each with one probe of the primary key, and a page is a range that is
// not sorted. The recorded costs depend neither on the number of rows nor on an asker for the object. Method: count for the session, in a
// table of a thousand rows and in one of 65536.
func TestHeavyWorkOfAnOperation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, rows := range []int{1000, 65536} {
			t.Run(fmt.Sprint(rows), func(t *testing.T) {
				t.Parallel()
				handle := newPlace(t, product).SQL
				fillBoth(t, handle, rows)
				analyzeBoth(t, handle)
				conn, err := handle.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }() // gives it back to the pool
				mustQuery(t, conn, "CALL ask_appl_lock_row('customer', '00500', 'ABEL', NULL, 'asks', NULL, NULL)")
				mustQuery(t, conn, "UPDATE appl_lock_ask SET expires_ts = UTC_TIMESTAMP(6) + INTERVAL 1 DAY")
				for _, step := range stepsOfWork(t) {
					requireWork(t, conn, product, step)
				}
			})
		}
	})
}

func requireWork(t *testing.T, conn contract.Querier, product string, step stepOfWork) {
	t.Helper()
	want := cmp.Or(step.work[product], step.work["both"])
	var got string
	untilUndisturbed(t, conn, 20, func() bool {
		for _, statement := range step.before {
			mustQuery(t, conn, statement)
		}
		got = workOf(t, conn, step.statement)
		return got == want
	})
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", step.statement, got, want)
	}
}

// untilUndisturbed repeats a count that others disturb, until it is right or was counted that many times undisturbed: after a change of any
// routine of the server every session reads its routines again, each by one key. A count that has really grown is never right.
func untilUndisturbed(t *testing.T, conn contract.Querier, times int, count func() (done bool)) {
	t.Helper()
	for changes := routineChanges(t, conn); times > 0 && !count(); {
		now := routineChanges(t, conn)
		if now == changes {
			times--
		}
		changes = now
	}
}

// routineChanges counts the statements of all sessions that have the server forget the routines it knows.
func routineChanges(t *testing.T, conn contract.Querier) int {
	t.Helper()
	changes := 0
	for _, count := range counters(t, conn, "GLOBAL", "Com_create_procedure", "Com_create_function", "Com_alter_procedure", "Com_alter_function",
		"Com_drop_procedure", "Com_drop_function", "Com_drop_db") {
		changes += count
	}
	return changes
}

// workOf says what a statement makes the server do, without what counting costs.
func workOf(t *testing.T, conn contract.Querier, statement string) string {
	t.Helper()
	counts := func() map[string]int { return counters(t, conn, "SESSION", counted()...) }
	idle := counts()
	before := counts()
	mustQuery(t, conn, statement)
	after := counts()
	var work []string
	for _, name := range counted() {
		if more := after[name] - before[name] - (before[name] - idle[name]); more != 0 {
			work = append(work, fmt.Sprintf("%s %d", name, more))
		}
	}
	return strings.Join(work, ", ")
}

// stepOfWork is a statement, what makes the state that it finds, and the work that it is to be, by product where they differ.
type stepOfWork struct {
	before    []string
	statement string
	work      map[string]string
}

func stepsOfWork(t *testing.T) []stepOfWork {
	t.Helper()
	const (
		gone = "DELETE FROM appl_lock WHERE object_type = 'customer' AND object_id = '00500'"
		free = `INSERT INTO appl_lock VALUES ('customer', '00500', 'ASMITH', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 60, UTC_TIMESTAMP(6), '', 'N', UTC_TIMESTAMP(6))
			ON DUPLICATE KEY UPDATE operator_id = 'ASMITH', fence = 1, released_ts = UTC_TIMESTAMP(6)`
		held = `INSERT INTO appl_lock VALUES ('customer', '00500', 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 3600, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, '', 'N', NULL)
			ON DUPLICATE KEY UPDATE operator_id = 'JDOE', fence = 1, released_ts = NULL, acquired_ts = UTC_TIMESTAMP(6), lock_ts = UTC_TIMESTAMP(6),
				expires_ts = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR`
		// What is asked of a table for the first time, a server looks up how many rows it has.
		policies   = "DO EXISTS (SELECT 1 FROM appl_lock_policy WHERE longest_ttl_seconds IS NOT NULL)"
		noted      = "UPDATE appl_lock SET note = 'why' WHERE object_type = 'customer' AND object_id = '00500'"
		old        = "UPDATE appl_lock SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY WHERE expires_ts > UTC_TIMESTAMP(6)"
		unasked    = "DELETE FROM appl_lock_ask"
		asked      = "CALL ask_appl_lock_row('customer', '00500', 'BROWN', NULL, 'p', NULL, NULL)"
		oldWaiters = "UPDATE appl_lock_waiter SET expires_ts = UTC_TIMESTAMP(6) - INTERVAL 60 DAY WHERE expires_ts > UTC_TIMESTAMP(6)"
	)
	both := func(work string) map[string]string { return map[string]string{"both": work} }
	renewal := fmt.Sprintf("CALL renew_appl_locks('%s')", document(t,
		db.RenewableGrant{ObjectType: "customer", ObjectID: "00500", OperatorID: "JDOE", Fence: 1, TTLSeconds: 200000}))
	return []stepOfWork{
		// Nobody has ever held it.
		{[]string{gone}, "CALL get_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 8, Com_set_option 9, Com_do 1, Com_select 5, Com_insert 1, Handler_read_key 4, Handler_write 1")},
		// Free.
		{[]string{free}, "CALL get_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 2, Com_set_option 6, Com_select 3, Com_update 1, Handler_read_key 3, Handler_update 1")},
		// A renewal.
		{[]string{held}, "CALL get_appl_lock_row('customer', '00500', 'JDOE', NULL, 3600, NULL)", both("Com_call_procedure 2, Com_set_option 6, Com_select 3, Com_update 1, Handler_read_key 3, Handler_update 1")},
		// A renewal that keeps the ttl.
		{[]string{held}, "CALL get_appl_lock_row('customer', '00500', 'JDOE', NULL, NULL, NULL)", both("Com_call_procedure 2, Com_set_option 6, Com_select 3, Com_update 1, Handler_read_key 3, Handler_update 1")},
		// Refused.
		{[]string{held}, "CALL get_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 2, Com_set_option 2, Com_select 2, Handler_read_key 1")},
		// In a transaction.
		{[]string{"ROLLBACK", free, "START TRANSACTION"}, "CALL get_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 8, Com_set_option 11, Com_do 1, Com_select 4, Com_insert 1, Com_update 1, Handler_read_key 5, Handler_write 1, Handler_update 1")},
		// Refused in a transaction.
		{[]string{"ROLLBACK", held, "START TRANSACTION"}, "CALL get_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 7, Com_set_option 7, Com_do 1, Com_select 3, Com_insert 1, Handler_read_key 3, Handler_write 1")},
		{[]string{"ROLLBACK", held}, "CALL release_appl_lock_row('customer', '00500', 'JDOE', 1, NULL, NULL)", both("Com_call_procedure 2, Com_set_option 5, Com_select 1, Com_update 1, Handler_read_key 1, Handler_update 1")},
		{[]string{held}, "CALL release_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 7, Com_set_option 9, Com_select 2, Com_update 1, Handler_read_key 2")},
		{[]string{free}, "CALL release_appl_lock_row('customer', '00500', 'ASMITH', NULL, NULL, NULL)", both("Com_call_procedure 7, Com_set_option 9, Com_select 2, Com_update 1, Handler_read_key 2")},
		{[]string{held}, "CALL inquire_appl_lock_row('customer', '00500')", both("Com_call_procedure 5, Com_set_option 1, Com_select 2, Handler_read_key 1")},
		{[]string{held}, "CALL assert_appl_lock_row('customer', '00500', 'JDOE', 1)", both("Com_call_procedure 8, Com_set_option 5, Com_select 2, Handler_read_key 1")},
		{[]string{held}, "CALL transfer_appl_lock_row('customer', '00500', 'JDOE', 'ASMITH', NULL, 60, NULL, NULL)", both("Com_call_procedure 17, Com_set_option 8, Com_do 2, Com_select 4, Com_insert 1, Com_update 1, Handler_read_key 4, Handler_write 1, Handler_update 1")},
		{[]string{held}, "CALL transfer_appl_lock_row('customer', '00500', 'ASMITH', 'BROWN', NULL, 60, NULL, NULL)", both("Com_call_procedure 16, Com_set_option 8, Com_select 4, Handler_read_key 3")},
		{[]string{held}, "CALL take_appl_lock_row('customer', '00500', 'BOSS', NULL, 'why', 1, 60)", both("Com_call_procedure 11, Com_set_option 8, Com_do 2, Com_select 4, Com_insert 1, Com_update 1, Handler_read_key 4, Handler_write 1, Handler_update 1")},
		{[]string{held}, "CALL take_appl_lock_row('customer', '00500', 'BOSS', NULL, 'why', 2, 60)", both("Com_call_procedure 10, Com_set_option 8, Com_select 4, Handler_read_key 3")},
		{[]string{held}, "CALL note_appl_lock_row('customer', '00500', 'JDOE', NULL, 'why')", both("Com_call_procedure 9, Com_set_option 5, Com_select 2, Handler_read_key 1")},
		{[]string{held}, "CALL note_appl_lock_row('customer', '00500', 'ASMITH', NULL, 'why')", both("Com_call_procedure 9, Com_set_option 5, Com_select 2, Handler_read_key 1")},
		// A renewal of a grant with a note.
		{[]string{held, noted}, "CALL get_appl_lock_row('customer', '00500', 'JDOE', NULL, 3600, NULL)", both("Com_call_procedure 2, Com_set_option 6, Com_select 3, Com_update 1, Handler_read_key 3, Handler_update 1")},
		{[]string{held, policies}, renewal, map[string]string{"mariadb": "Com_call_procedure 3, Com_set_option 5, Com_select 2, Handler_read_key 3, Handler_read_rnd_next 18, Handler_update 2, Sort_rows 2", "mysql": "Com_call_procedure 3, Com_set_option 5, Com_select 2, Handler_read_key 7, Handler_read_first 2, Handler_read_rnd_next 13, Handler_write 6, Handler_update 1, Sort_rows 2"}},
		{nil, "CALL serialize_appl_lock_row('customer', '1')", both("Com_call_procedure 6, Com_set_option 1, Com_select 3, Com_update 1, Handler_read_key 3, Handler_update 1")},
		// Asked for the first time, and again.
		{[]string{held, unasked}, "CALL ask_appl_lock_row('customer', '00500', 'BROWN', NULL, 'p', NULL, NULL)", both("Com_call_procedure 10, Com_set_option 9, Com_select 4, Com_insert 1, Handler_read_key 3, Handler_write 1")},
		{[]string{held}, "CALL ask_appl_lock_row('customer', '00500', 'BROWN', NULL, 'p', NULL, NULL)", both("Com_call_procedure 10, Com_set_option 9, Com_select 4, Com_insert 1, Handler_read_key 4, Handler_write 1, Handler_update 1")},
		{[]string{held}, "CALL answer_appl_lock_row('customer', '00500', 'JDOE', 1, 'BROWN', NULL, 'LATER', NULL)", both("Com_call_procedure 14, Com_set_option 9, Com_select 4, Com_update 1, Handler_read_key 4, Handler_read_next 2, Handler_update 1")},
		{[]string{held, unasked, asked}, "CALL answer_appl_lock_row('customer', '00500', 'JDOE', 1, 'BROWN', NULL, 'GIVE', NULL)", map[string]string{"mariadb": "Com_call_procedure 19, Com_set_option 14, Com_do 2, Com_select 8, Com_insert 1, Com_update 1, Com_delete 1, Handler_read_key 9, Handler_read_next 2, Handler_read_rnd_next 2, Handler_write 1, Handler_update 1, Handler_delete 1", "mysql": "Com_call_procedure 19, Com_set_option 14, Com_do 2, Com_select 8, Com_insert 1, Com_update 1, Com_delete 1, Handler_read_key 9, Handler_read_next 2, Handler_read_rnd_next 2, Handler_write 2, Handler_update 1, Handler_delete 1"}},
		// An inbox in which there is nothing.
		{nil, "CALL inbox_appl_locks('NOBODY', '999999999999999999', 10)", both("Com_call_procedure 4, Com_set_option 5, Com_select 3, Handler_read_key 5, Handler_read_rnd_next 5")},
		{[]string{old, oldWaiters, "DELETE FROM appl_lock_event"}, "CALL purge_appl_locks_row(1, 10)", map[string]string{"mariadb": "Com_call_procedure 6, Com_set_option 5, Com_do 2, Com_select 22, Com_insert 1, Com_update 1, Com_delete 10, Handler_read_key 32, Handler_read_first 1, Handler_read_next 9, Handler_read_rnd_next 11, Handler_write 1, Handler_delete 10", "mysql": "Com_call_procedure 6, Com_set_option 5, Com_do 2, Com_select 22, Com_insert 1, Com_update 1, Com_delete 10, Handler_read_key 33, Handler_read_first 1, Handler_read_next 9, Handler_read_rnd_next 11, Handler_write 11, Handler_delete 10"}},
	}
}
