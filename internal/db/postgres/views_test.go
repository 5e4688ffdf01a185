package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// viewedRows are in a table when the plans of views are measured; make test-plans has a million.
const viewedRows = 100_000

// Goal: a read of a view costs as much as its answer, even with statistics that are missing, of an empty table, or of a time when nothing
// was live: a page by the key, one object, a page of a type, and the join of ten cases with all locks. Only an operator's locks, which no
// index has, cost a read of each row. Method: count the rows that the plan handles, and the pages that it reads.
func TestPlansOfViews(t *testing.T) {
	t.Parallel()
	viewedRows := testdb.Rows(t, viewedRows)
	const fill = `INSERT INTO applock.appl_lock
		SELECT CASE WHEN n % 10 = 0 THEN 'claim' ELSE 'customer' END, n, 'OP' || n % 100, 'D' || n % 7, n, now(), now(), 3600,
			now() + $2::interval, '', false, CASE WHEN $3 THEN now() END
		FROM generate_series(1, $1::int) AS n`
	for name, prepare := range map[string]func(t *testing.T, pool *pgxpool.Pool){
		"right": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, fill, viewedRows, live, false)
			call(t, pool, "ANALYZE applock.appl_lock")
		},
		"none": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, fill, viewedRows, live, false)
		},
		"of an empty table": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, "ANALYZE applock.appl_lock")
			call(t, pool, fill, viewedRows, live, false)
		},
		"when nothing was live": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, fill, viewedRows, expired, true)
			call(t, pool, "ANALYZE applock.appl_lock")
			call(t, pool, "UPDATE applock.appl_lock SET released_ts = NULL, expires_ts = now() + interval '1 hour'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.InstalledPostgres(t)
			e := newExplained(t, dsn)
			call(t, e.pool, "ALTER TABLE applock.appl_lock SET (autovacuum_enabled = off)")
			call(t, e.pool, "CREATE TABLE cases AS SELECT n AS id, (n * 10 + 1)::text AS customer_id FROM generate_series(1, 10) AS n")
			call(t, e.pool, "ANALYZE cases")
			prepare(t, e.pool)
			for _, read := range []struct {
				name, query string
				atMost      int
			}{
				{"one object", "SELECT * FROM applock.appl_lock_live WHERE object_type = 'customer' AND object_id = '4711'", 10},
				{"a page", "SELECT * FROM applock.appl_lock_live WHERE (object_type, object_id) > ('customer', '5') ORDER BY object_type, object_id LIMIT 100", 500},
				{"an operator", "SELECT * FROM applock.appl_lock_live WHERE operator_id = 'OP7'", 4 * viewedRows},
				{
					"ten cases", `SELECT c.id, l.operator_id, l.seconds_left
					FROM cases AS c LEFT JOIN applock.appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`, 100,
				},
				{
					"ten cases that are locked", `SELECT c.id, l.operator_id, l.seconds_left
					FROM cases AS c JOIN applock.appl_lock_live AS l ON l.object_type = 'customer' AND l.object_id = c.customer_id`, 100,
				},
			} {
				if rows, pages := e.lookedAt(t, func() { call(t, e.pool, read.query) }); rows > read.atMost || pages > read.atMost {
					t.Errorf("%s: handles %d rows in %d pages, want at most %d", read.name, rows, pages, read.atMost)
				}
			}
			driver := clients.Driver(testclient.Postgres(t, e.pool))
			rows, pages := e.lookedAt(t, func() {
				locks, err := driver.ApplLockLive(t.Context(), db.ApplLockLiveParams{ObjectType: "claim", AfterType: "claim", AfterID: "5", MaxRows: 100})
				if err != nil || len(locks) != 100 {
					t.Errorf("a page of a type: %d locks, %v", len(locks), err)
				}
			})
			if rows > 500 || pages > 500 {
				t.Errorf("a page of a type handles %d rows in %d pages, want at most 500", rows, pages)
			}
		})
	}
}

// Goal: a page of the history reads a page, oldest or newest first, also of an operator that has very many events, and whatever the
// statistics say. Method: the queries of the driver, by what they read of the events and their indexes, in rows and in pages.
func TestHeavyPagesOfTheHistoryReadAPage(t *testing.T) {
	t.Parallel()
	viewedRows := testdb.Rows(t, viewedRows)
	const fill = `INSERT INTO applock.appl_lock_event
			(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason)
		SELECT now(), 'customer', CASE WHEN n = 5 THEN '00' ELSE (n % 1000)::text END, 'TAKEN', CASE WHEN n % 2 = 0 THEN 'BUSY' ELSE 'OTHER' END, '', '',
			CASE WHEN n = 5 THEN 'RARE' ELSE 'BUSY' END, '', 'ANOTHER', '', n, n + 1, 'why' FROM generate_series(1, $1::int) AS n`
	const page = 20
	for name, prepare := range map[string]string{
		"none":   "SELECT 1",
		"right":  "ANALYZE applock.appl_lock_event",
		"of one": `UPDATE pg_class SET relpages = 1, reltuples = 1 WHERE relname LIKE 'appl_lock_event%' AND relkind IN ('r', 'i')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.InstalledPostgres(t)
			e := newExplained(t, dsn)
			call(t, e.pool, "ALTER TABLE applock.appl_lock_event SET (autovacuum_enabled = off)")
			call(t, e.pool, fill, viewedRows)
			call(t, e.pool, prepare)
			driver := clients.Driver(testclient.Postgres(t, e.pool))
			purge := func() {
				purged, err := driver.PurgeApplLockHistory(t.Context(), db.PurgeParams{OlderThanSeconds: 86400, MaxRows: page})
				if err != nil || purged.Purged != 0 {
					t.Errorf("a purge of young events: %+v, %v", purged, err)
				}
			}
			purge() // looks up what the server then keeps
			rows, pages := e.lookedAt(t, purge)
			if rows > 20*page || pages > 20*page {
				t.Errorf("a purge of young events handles %d rows in %d pages, want at most %d", rows, pages, 20*page)
			}
			for _, params := range []db.ApplLockHistoryParams{
				{}, {OperatorID: "BUSY"}, {OperatorID: "RARE"}, {OperatorID: "NOBODY"}, {ObjectType: "customer", ObjectID: "7"}, {ObjectType: "customer", ObjectID: "00"},
				{OperatorID: "BUSY", AfterEventID: int64(viewedRows / 2)}, {AfterEventID: int64(viewedRows / 2)},
			} {
				for _, newest := range []bool{false, true} {
					params.NewestFirst, params.MaxRows = newest, page
					var events []db.Event
					rows, pages := e.lookedAt(t, func() {
						var err error
						if events, err = driver.ApplLockHistory(t.Context(), params); err != nil {
							t.Fatal(err)
						}
					})
					if rows > 20*page || pages > 20*page {
						t.Errorf("%+v: %d events handle %d rows in %d pages, want at most %d", params, len(events), rows, pages, 20*page)
					}
					for i := 1; i < len(events); i++ {
						if (events[i].EventID < events[i-1].EventID) != newest {
							t.Errorf("%+v: event %d comes behind event %d", params, events[i].EventID, events[i-1].EventID)
						}
					}
					if want := map[string]int{"RARE": 1, "NOBODY": 0, "00": 1}; len(events) != page {
						if n, few := want[params.OperatorID+params.ObjectID]; !few || len(events) != n {
							t.Errorf("%+v: %d events", params, len(events))
						}
					}
				}
			}
		})
	}
}

// Goal: now in a view is the start of the reader's statement. Method: a lock that ends within a transaction.
func TestViewsHaveTheStatementsTime(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	execute(t, tx, "SELECT applock.get_appl_lock_row('customer', '1', 'JDOE', NULL, 1)")
	if live := value[int](t, tx, "SELECT count(*) FROM applock.appl_lock_live"); live != 1 {
		t.Errorf("%d locks are live, want 1", live)
	}
	execute(t, tx, "SELECT pg_sleep(1.05)")
	if live := value[int](t, tx, "SELECT count(*) FROM applock.appl_lock_live"); live != 0 {
		t.Errorf("%d locks are live after their time, want none", live)
	}
}

// Goal: a lock that somebody has made endless by hand disturbs nobody else's, and verify names it and other values that no procedure writes.
// Method: such rows beside an ordinary one; all that reads them by SQL, the façade's list, and status.
func TestAbsurdRows(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	client := testclient.Postgres(t, pool)
	giveToOwner(t, pool, client)
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, getCall, "2", "JDOE")
	call(t, pool, announceCall, "2", "ASMITH")
	call(t, pool, "UPDATE applock.appl_lock SET expires_ts = 'infinity' WHERE object_id = '2'")
	for _, read := range []string{
		"SELECT min(seconds_left) FROM applock.appl_lock_live", "SELECT min(seconds_left) FROM applock.appl_lock_waiting",
		"SELECT min(live) FROM applock.appl_lock_stats", "SELECT count(*) FROM applock.inbox_appl_locks('JDOE')",
		"SELECT count(free_in_us) FROM applock.poll_appl_locks('p1')", "SELECT p_seconds_left FROM applock.inquire_appl_lock_row('customer', '2')",
		"SELECT p_seconds_left FROM applock.get_appl_lock_row('customer', '2', 'ASMITH')",
	} {
		var got int64
		if err := pool.QueryRow(t.Context(), read).Scan(&got); err != nil || got <= 0 {
			t.Errorf("%s: %d, %v", read, got, err)
		}
	}
	for lock, err := range client.List(t.Context(), applock.ListRequest{}) {
		if err != nil {
			t.Errorf("%+v, %v", lock, err)
		}
	}
	for _, change := range []string{
		"expires_ts = 'infinity'", "lock_ts = '-infinity'", "fence = 9223372036854775807", "fence = -1", "operator_id = ''", "ttl_seconds = 0",
	} {
		call(t, pool, "CALL applock.take_appl_lock('customer', '2', 'BOSS', '', 'why')")
		call(t, pool, "UPDATE applock.appl_lock SET "+change+" WHERE object_id = '2'")
		status, err := migrate.Status(t.Context(), client)
		if err != nil || len(status.Findings) != 1 || status.Findings[0].Name != "row customer:2 of appl_lock" {
			t.Fatalf("%s: %+v, %v", change, status.Findings, err)
		}
		call(t, pool, status.Findings[0].Statement)
		call(t, pool, getCall, "2", "JDOE")
	}
}
