package mysql_test

import (
	"testing"

	"github.com/applock/applock/internal/db"
)

// Goal: a page of the history reads a page, oldest or newest first, also of an operator that has very many events, and whatever the
// statistics say. Method: the queries of the driver on a pool of one connection, by the rows that its session reads.
func TestPagesOfTheHistoryReadAPage(t *testing.T) {
	t.Parallel()
	const (
		page = 20
		fill = `INSERT INTO appl_lock_event
				(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
				to_operator_id, to_department_id, from_fence, to_fence, reason)
			SELECT UTC_TIMESTAMP(6), 'customer', slot MOD 1000, 'TAKEN', IF(slot MOD 2 = 0, 'BUSY', 'OTHER'), '', '',
				IF(slot = 5, 'RARE', 'BUSY'), '', 'ANOTHER', '', slot, slot + 1, 'why' FROM appl_lock_serialize WHERE slot < ? ORDER BY slot`
	)
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, worthless := range []bool{false, true} {
			place := newPlace(t, product)
			place.SQL.SetMaxOpenConns(1)
			mustQuery(t, place.SQL, "ALTER TABLE appl_lock_event STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
			mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock_event")
			mustQuery(t, place.SQL, fill, plannedRows)
			if worthless {
				mustQuery(t, place.SQL, "UPDATE mysql.innodb_table_stats SET n_rows = 1000000000 WHERE database_name = DATABASE()")
				mustQuery(t, place.SQL, "UPDATE mysql.innodb_index_stats SET stat_value = 1 WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%'")
				mustQuery(t, place.SQL, "FLUSH TABLES appl_lock_event")
			}
			for _, params := range []db.ApplLockHistoryParams{
				{}, {OperatorID: "BUSY"}, {OperatorID: "RARE"}, {OperatorID: "NOBODY"}, {ObjectType: "customer", ObjectID: "7"},
				{OperatorID: "BUSY", AfterEventID: plannedRows / 2}, {AfterEventID: plannedRows / 2},
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
					if reads > 20*page {
						t.Errorf("worthless %t, %+v: %d events, %d rows read, want at most %d", worthless, params, len(events), reads, 20*page)
					}
				}
			}
		}
	})
}
