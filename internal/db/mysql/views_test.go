package mysql_test

import (
	"fmt"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// numbers is a table of a million numbers, from 0 on.
const numbers = `(SELECT s.slot + 65536 * m.slot AS n FROM appl_lock_serialize AS m STRAIGHT_JOIN appl_lock_serialize AS s WHERE m.slot < 16) AS numbers`

// worthless makes the statistics of a table those of a huge one in which no key is worth anything.
func worthless(t *testing.T, handle contract.Querier, table string) {
	t.Helper()
	mustQuery(t, handle, "UPDATE mysql.innodb_table_stats SET n_rows = 1000000000 WHERE database_name = DATABASE()")
	mustQuery(t, handle, "UPDATE mysql.innodb_index_stats SET stat_value = 1 WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%'")
	mustQuery(t, handle, "FLUSH TABLES "+table)
}

// Goal: a read of a view costs as much as its answer, with any statistics: a page by the key, one object, a page of a type, and the join of
// ten cases with all locks. Only an operator's locks, which no index has, cost a read of each row. Method: statistics of an empty table, of
// worthless keys, and the right ones; the rows that the session reads.
func TestPlansOfViews(t *testing.T) {
	t.Parallel()
	const page = 100
	viewedRows := testdb.Rows(t, plannedRows)
	fill := `INSERT INTO appl_lock
		SELECT IF(n MOD 10 = 0, 'claim', 'customer'), n, CONCAT('OP', n MOD 100), CONCAT('D', n MOD 7), n + 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6),
			3600, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, '', 'N', NULL FROM ` + numbers + ` WHERE n < ?`
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		place.SQL.SetMaxOpenConns(1)
		mustQuery(t, place.SQL, "ALTER TABLE appl_lock STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
		mustQuery(t, place.SQL, "CREATE TABLE cases (id INT PRIMARY KEY, customer_id VARCHAR(255) COLLATE utf8mb4_bin NOT NULL)")
		mustQuery(t, place.SQL, "INSERT INTO cases SELECT slot, slot * 10 + 1 FROM appl_lock_serialize WHERE slot < 10")
		mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock, cases")
		mustQuery(t, place.SQL, fill, viewedRows)
		if count := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_live"); count != fmt.Sprint(viewedRows) {
			t.Fatalf("%s locks, want %d", count, viewedRows)
		}
		requireReadsOfViews(t, place, "of an empty table", viewedRows, page)
		worthless(t, place.SQL, "appl_lock")
		requireReadsOfViews(t, place, "of worthless keys", viewedRows, page)
		mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock")
		mustQuery(t, place.SQL, "FLUSH TABLES appl_lock")
		requireReadsOfViews(t, place, "right", viewedRows, page)
	})
}

func requireReadsOfViews(t *testing.T, place contract.Place, statistics string, all, page int) {
	t.Helper()
	ofTheDriver := func(params db.ApplLockLiveParams) func() int {
		return func() int {
			locks, err := place.Driver.ApplLockLive(t.Context(), params)
			if err != nil {
				t.Error(err)
			}
			return len(locks)
		}
	}
	bySQL := func(query string) func() int { return func() int { return len(mustQuery(t, place.SQL, query)) } }
	for _, read := range []struct {
		name            string
		read            func() int
		answers, atMost int
	}{
		{"one object", bySQL("SELECT * FROM appl_lock_live WHERE object_type = 'customer' AND object_id = '4711'"), 1, 10},
		{"a page", ofTheDriver(db.ApplLockLiveParams{AfterType: "customer", AfterID: "5", MaxRows: int64(page)}), page, 2 * page},
		{"a page by SQL", bySQL(`SELECT * FROM appl_lock_live WHERE object_type > 'customer' OR object_type = 'customer' AND object_id > '5'
			ORDER BY object_type, object_id LIMIT 100`), page, 2 * page},
		{"the first page", ofTheDriver(db.ApplLockLiveParams{MaxRows: int64(page)}), page, 2 * page},
		{"a page of a type", ofTheDriver(db.ApplLockLiveParams{ObjectType: "claim", AfterType: "claim", AfterID: "5", MaxRows: int64(page)}), page, 2 * page},
		{"an operator", bySQL("SELECT * FROM appl_lock_live WHERE operator_id = 'OP7'"), all / 100, all + 100},
		{"ten cases", bySQL(`SELECT c.id, l.operator_id, l.seconds_left
			FROM cases AS c LEFT JOIN appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`), 10, 100},
		{"ten cases that are locked", bySQL(`SELECT c.id, l.operator_id, l.seconds_left
			FROM cases AS c JOIN appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`), 10, 100},
	} {
		var answers, reads int
		untilUndisturbed(t, place.SQL, 5, func() bool {
			before := handledReads(t, place.SQL)
			answers = read.read()
			reads = handledReads(t, place.SQL) - before
			return reads <= read.atMost
		})
		if answers < read.answers || reads > read.atMost {
			t.Errorf("statistics %s: %s: %d answers, %d rows read, want %d, at most %d", statistics, read.name, answers, reads, read.answers, read.atMost)
		}
	}
}

// Goal: a page of the history reads a page, oldest or newest first, also of an operator that has very many events, and whatever the
// statistics say. Method: the queries of the driver on a pool of one connection, by the rows that its session reads.
func TestPagesOfTheHistoryReadAPage(t *testing.T) {
	t.Parallel()
	const (
		page = 20
		fill = `INSERT INTO appl_lock_event
				(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
				to_operator_id, to_department_id, from_fence, to_fence, reason)
			SELECT UTC_TIMESTAMP(6), 'customer', n MOD 1000, 'TAKEN', IF(n MOD 2 = 0, 'BUSY', 'OTHER'), '', '',
				IF(n = 5, 'RARE', 'BUSY'), '', 'ANOTHER', '', n, n + 1, 'why' FROM ` + numbers + ` WHERE n < ? ORDER BY n`
	)
	viewedRows := testdb.Rows(t, plannedRows)
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		place.SQL.SetMaxOpenConns(1)
		mustQuery(t, place.SQL, "ALTER TABLE appl_lock_event STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
		mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock_event")
		mustQuery(t, place.SQL, fill, viewedRows)
		for _, statistics := range []string{"of an empty table", "of worthless keys"} {
			if statistics == "of worthless keys" {
				worthless(t, place.SQL, "appl_lock_event")
			}
			for _, params := range []db.ApplLockHistoryParams{
				{}, {OperatorID: "BUSY"}, {OperatorID: "RARE"}, {OperatorID: "NOBODY"}, {ObjectType: "customer", ObjectID: "7"},
				{OperatorID: "BUSY", AfterEventID: int64(viewedRows / 2)}, {AfterEventID: int64(viewedRows / 2)},
			} {
				for _, newest := range []bool{false, true} {
					params.NewestFirst, params.MaxRows = newest, page
					var events []db.Event
					reads := 0
					untilUndisturbed(t, place.SQL, 5, func() bool {
						before := handledReads(t, place.SQL)
						var err error
						if events, err = place.Driver.ApplLockHistory(t.Context(), params); err != nil {
							t.Fatal(err)
						}
						reads = handledReads(t, place.SQL) - before
						return reads <= 20*page
					})
					answers, few := map[string]int{"RARE": 1, "NOBODY": 0}[params.OperatorID]
					if !few {
						answers = page
					}
					if len(events) != answers || reads > 20*page {
						t.Errorf("statistics %s, %+v: %d events, %d rows read, want %d, at most %d", statistics, params, len(events), reads, answers, 20*page)
					}
				}
			}
		}
	})
}
