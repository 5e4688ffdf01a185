package sqlite_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testdb"
)

// viewedRows are in a table when the pages are counted that a view looks at; make test-plans has a million.
const viewedRows = 100_000

// Goal: a read of a view costs as much as its answer, with any statistics: a page by the key, one object, a page of a type, and the join
// that begins with ten cases. Only an operator's locks, which no index has, cost a read of the table. Method: no statistics, the right
// ones, those of one row and of worthless keys; the pages that SQLite reads.
func TestPlansOfViews(t *testing.T) {
	t.Parallel()
	all := testdb.Rows(t, viewedRows)
	recorder, handle, driver := recorded(t)
	execute(t, handle, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		INSERT INTO appl_lock
		SELECT iif(i % 10, 'customer', 'claim'), printf('n%07d', i), 'OP' || (i % 100), '', i, 0, 0, 60, 4102444800000000, '', 'N', NULL FROM n`, all)
	execute(t, handle, "CREATE TABLE cases (id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL)")
	execute(t, handle, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
		INSERT INTO cases SELECT i, printf('n%07d', i * 10 + 1) FROM n`)
	const load = "ANALYZE sqlite_schema"
	for _, statistics := range []struct {
		name   string
		become []string
	}{
		{"none", nil},
		{"right", []string{"ANALYZE"}},
		{"of one row", []string{"UPDATE sqlite_stat1 SET stat = '1 1 1 1 1'", load}},
		{"of worthless keys", []string{"UPDATE sqlite_stat1 SET stat = '1000000000 1000000000 1000000000 1000000000 1000000000'", load}},
	} {
		for _, statement := range statistics.become {
			execute(t, handle, statement)
		}
		for _, read := range readsOfViews(handle, driver, all) {
			recorder.forget()
			answers, err := read.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if pages := recorder.ran[0].pages; answers != read.answers || pages > read.atMost {
				t.Errorf("statistics %s: %s: %d answers, looks at %d pages, want %d, at most %d",
					statistics.name, read.name, answers, pages, read.answers, read.atMost)
			}
		}
	}
}

// readOfView is a read with how many rows it answers, and at how many pages it may look for them.
type readOfView struct {
	name            string
	read            func(ctx context.Context) (int, error)
	answers, atMost int
}

// readsOfViews are reads among that many locks; a page of the file has some forty.
func readsOfViews(handle *sql.DB, driver db.Driver, all int) []readOfView {
	ofTheDriver := func(params db.ApplLockLiveParams) func(ctx context.Context) (int, error) {
		params.MaxRows = 100
		return func(ctx context.Context) (int, error) {
			locks, err := driver.ApplLockLive(ctx, params)
			return len(locks), err
		}
	}
	counted := func(query string) func(ctx context.Context) (int, error) {
		return func(ctx context.Context) (count int, err error) {
			return count, handle.QueryRowContext(ctx, query).Scan(&count)
		}
	}
	return []readOfView{
		{"one object", counted("SELECT count(*) FROM appl_lock_live WHERE object_type = 'customer' AND object_id = 'n0004711'"), 1, 10},
		{"the first page", ofTheDriver(db.ApplLockLiveParams{}), 100, 30},
		{"a page", ofTheDriver(db.ApplLockLiveParams{AfterType: "customer", AfterID: "n0050000"}), 100, 30},
		{"a page of a type", ofTheDriver(db.ApplLockLiveParams{ObjectType: "claim", AfterType: "claim", AfterID: "n0050000"}), 100, 30},
		{"an operator", counted("SELECT count(*) FROM appl_lock_live WHERE operator_id = 'OP7'"), all / 100, all / 20},
		{"ten cases", counted(`SELECT count(l.operator_id)
			FROM cases AS c LEFT JOIN appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`), 10, 100},
		{"ten cases that are locked", counted(`SELECT count(l.operator_id)
			FROM cases AS c CROSS JOIN appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`), 10, 100},
	}
}

// Goal: "my open cases, and who works on them" is a join in plain SQL that reads the locks of those cases only. Method: ten cases of a
// table of its own among 2,000 locks, without and with stale statistics; the answer, and how SQLite looks for it.
func TestJoinWithLiveLocksUsesTheKey(t *testing.T) {
	t.Parallel()
	const join = `
		SELECT c.case_id, l.operator_id
		FROM customer_case AS c
		LEFT JOIN appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.case_id
		WHERE c.owner_id = 'ME'
		ORDER BY c.case_id`
	for _, statistics := range []bool{false, true} {
		place := newPlace(t)
		execute(t, place.SQL, "CREATE TABLE customer_case (case_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL)")
		if statistics {
			fill(t, place.SQL, 1)
			execute(t, place.SQL, "ANALYZE")
			execute(t, place.SQL, "DELETE FROM appl_lock")
			execute(t, place.SQL, "DELETE FROM appl_lock_waiter")
			execute(t, place.SQL, "DELETE FROM appl_lock_viewer")
		}
		fill(t, place.SQL, plannedRows)
		execute(t, place.SQL, "INSERT INTO customer_case SELECT object_id, 'ME' FROM appl_lock WHERE object_id < '00009'")
		execute(t, place.SQL, "INSERT INTO customer_case VALUES ('free', 'ME'), ('other', 'YOU')")
		execute(t, place.SQL, "UPDATE appl_lock SET released_ts = 1 WHERE object_id = '00003'")
		execute(t, place.SQL, "UPDATE appl_lock SET expires_ts = 2 WHERE object_id = '00004'")
		plans := &explaining{DBTX: reopened(t, place.DSN)}
		rows, err := plans.QueryContext(t.Context(), join)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		var answer []string
		for rows.Next() {
			var id string
			var operator *string
			if err := rows.Scan(&id, &operator); err != nil {
				t.Fatal(err)
			}
			if operator != nil {
				id += "/" + *operator
			}
			answer = append(answer, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		want := "00000/JDOE 00001/JDOE 00002/JDOE 00003 00004 00005/JDOE 00006/JDOE 00007/JDOE 00008/JDOE free"
		if got := strings.Join(answer, " "); got != want {
			t.Errorf("the join answers %s, want %s", got, want)
		}
		if !slices.Contains(plans.steps, ofTheTable+byKey+" LEFT-JOIN") || slices.Contains(plans.steps, "SCAN appl_lock") {
			t.Errorf("statistics %t: the join goes by %q", statistics, plans.steps)
		}
	}
}

// Goal: a page of the history reads a page, newest or oldest first, also for an operator with very many events, and so does an inbox
// with very many. Method: events that JDOE did, lost and got, and the pages that SQLite looks at for 20 of them.
func TestPageOfHistoryReadsAPage(t *testing.T) {
	t.Parallel()
	const most = 1000
	all := testdb.Rows(t, viewedRows)
	recorder, handle, driver := recorded(t)
	execute(t, handle, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		INSERT INTO appl_lock_event (event_ts, object_type, object_id, event, actor_id, db_user, program,
			from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason)
		SELECT 1, 'customer', '1', 'TRANSFERRED', iif(i % 2, 'BOSS', 'JDOE'), '', '', iif(i % 3, 'JDOE', 'BROWN'), '', iif(i % 3, 'BROWN', 'JDOE'), '', i, i + 1, ''
		FROM n`, all)
	for name, read := range map[string]func(ctx context.Context) (int64, int, error){
		"oldest":              readHistory(driver, db.ApplLockHistoryParams{OperatorID: "JDOE"}),
		"newest":              readHistory(driver, db.ApplLockHistoryParams{OperatorID: "JDOE", NewestFirst: true}),
		"oldest of an object": readHistory(driver, db.ApplLockHistoryParams{ObjectType: "customer", ObjectID: "1"}),
		"newest of an object": readHistory(driver, db.ApplLockHistoryParams{ObjectType: "customer", ObjectID: "1", NewestFirst: true}),
		"newest of all":       readHistory(driver, db.ApplLockHistoryParams{NewestFirst: true}),
		"inbox": func(ctx context.Context) (int64, int, error) {
			notices, err := driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: "JDOE", MaxRows: 20})
			if err != nil || len(notices) == 0 {
				return 0, 0, err
			}
			if last := notices[len(notices)-1]; last.SafeEventID != last.EventID {
				t.Errorf("a full page ends with event %d and is safe to %d", last.EventID, last.SafeEventID)
			}
			return notices[0].EventID, len(notices), nil
		},
	} {
		recorder.forget()
		first, rows, err := read(t.Context())
		if newest := strings.HasPrefix(name, "newest"); err != nil || rows != 20 || newest != (first > int64(all-most)) {
			t.Errorf("%s: %d rows from event %d, %v", name, rows, first, err)
		}
		if pages := recorder.ran[0].pages; pages > most {
			t.Errorf("%s looks at %d pages, want at most %d", name, pages, most)
		}
	}
}

func readHistory(driver db.Driver, params db.ApplLockHistoryParams) func(ctx context.Context) (int64, int, error) {
	params.MaxRows = 20
	return func(ctx context.Context) (int64, int, error) {
		events, err := driver.ApplLockHistory(ctx, params)
		if err != nil || len(events) == 0 {
			return 0, 0, err
		}
		return events[0].EventID, len(events), nil
	}
}

// Goal: a page of one type begins at the type and ends with it, whatever there is before and behind. Method: the pages that SQLite
// looks at for a type of one lock between two of many.
func TestPageOfATypeReadsTheType(t *testing.T) {
	t.Parallel()
	recorder, handle, driver := recorded(t)
	lockMany(t, handle, "many", 20_000)
	execute(t, handle, "INSERT INTO appl_lock SELECT 'd', object_id, operator_id, '', fence, 0, 0, 60, expires_ts, '', 'N', NULL FROM appl_lock WHERE object_id = '1'")
	execute(t, handle, "INSERT INTO appl_lock SELECT 'e', object_id, operator_id, '', fence, 0, 0, 60, expires_ts, '', 'N', NULL FROM appl_lock WHERE object_type = 'customer'")
	recorder.forget()
	locks, err := driver.ApplLockLive(t.Context(), db.ApplLockLiveParams{ObjectType: "d", MaxRows: 10})
	if err != nil || len(locks) != 1 || locks[0].TTLSeconds != 60 {
		t.Errorf("the type has %+v, %v", locks, err)
	}
	if pages := recorder.ran[0].pages; pages > 20 {
		t.Errorf("a page of one type looks at %d pages", pages)
	}
}

// Goal: the inbox finds a waiter by the holder that its announcement or its poll has stored, and tells no one who holds it no more.
// Method: a waiter announces before there is a holder; polls; the lock is transferred; polls again.
func TestInboxFollowsTheHolder(t *testing.T) {
	t.Parallel()
	_, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	announce := db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "1", OperatorID: "BROWN", ClientID: "p1"}
	if err := driver.AnnounceApplLockWaiter(t.Context(), announce); err != nil {
		t.Fatal(err)
	}
	requireAwaited := func(when, want string) {
		t.Helper()
		for _, operator := range []string{"JDOE", "ASMITH", "BROWN"} {
			notices, err := driver.InboxApplLocks(t.Context(), db.InboxApplLocksParams{OperatorID: operator, AfterEventID: 100, MaxRows: 10})
			if awaited := len(notices) == 1 && notices[0].Kind == db.NoticeAwaited; err != nil || awaited != (operator == want) {
				t.Errorf("%s: the inbox of %s has %+v, %v", when, operator, notices, err)
			}
			if len(notices) > 0 && notices[0].SafeEventID != 100 {
				t.Errorf("%s: safe to %d, after event 100", when, notices[0].SafeEventID)
			}
		}
	}
	poll := func() {
		t.Helper()
		if _, err := driver.PollApplLocks(t.Context(), db.PollApplLocksParams{ClientID: "p1", MaxRows: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Fatal(err)
	}
	poll()
	requireAwaited("held", "JDOE")
	transfer := db.TransferApplLockParams{ObjectType: "customer", ObjectID: "1", FromOperatorID: "JDOE", ToOperatorID: "ASMITH"}
	if _, err := driver.TransferApplLock(t.Context(), transfer); err != nil {
		t.Fatal(err)
	}
	requireAwaited("transferred", "")
	poll()
	requireAwaited("transferred and polled", "ASMITH")
	if err := driver.AnnounceApplLockWaiter(t.Context(), announce); err != nil {
		t.Fatal(err)
	}
	requireAwaited("announced again", "ASMITH")
}
