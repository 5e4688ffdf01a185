package sqlite_test

import (
	"context"
	"database/sql"
	"strconv"
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
			if last := notices[len(notices)-1]; last.NextPosition != strconv.FormatInt(last.EventID, 10) {
				t.Errorf("a full page ends with event %d and has the position %s", last.EventID, last.NextPosition)
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
