package mysql_test

import (
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

// Goal: a page of the history reads a page, oldest or newest first, also of an operator that has very many events, and whatever the
// statistics say. Method: the queries of the driver on a pool of one connection, by the rows that its session reads.
func TestHeavyPagesOfTheHistoryReadAPage(t *testing.T) {
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
