package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

const (
	// plannedRows are in the table, when an operation is measured, and plannedGrants are asked for.
	plannedRows   = 20000
	plannedGrants = 1000
	// fillLocks and fillWaiters fill both tables; $1 is how many rows, and whether they are live.
	fillLocks = `INSERT INTO applock.appl_lock
		SELECT 'customer', n, 'JDOE', '', n, now() - interval '90 d', now() - interval '90 d', 3600, now() + $2::interval FROM generate_series(1, $1::int) AS n`
	fillWaiters = `INSERT INTO applock.appl_lock_waiter
		SELECT 'customer', n, 'ASMITH', '', 'p' || n % 20, now() - interval '90 d', NULL, now() + $2::interval, 'JDOE' FROM generate_series(1, $1::int) AS n`
	// fillPresence adds a viewer and an asker to each object.
	fillPresence = `WITH viewers AS (
			INSERT INTO applock.appl_lock_viewer
			SELECT 'customer', n, 'BROWN', '', 'tab', 'VIEWING', now(), now(), now() + interval '1 hour' FROM generate_series(1, 20000) AS n
			ON CONFLICT DO NOTHING
		)
		INSERT INTO applock.appl_lock_ask
			(object_type, object_id, operator_id, department_id, client_id, message, since_ts, expires_ts, holder_id, fence, shown_ts, answer, answer_reason)
		SELECT 'customer', n, 'BROWN', '', 'tab', '', now(), now() + interval '1 hour', 'JDOE', n, now(), '', '' FROM generate_series(1, 20000) AS n
		ON CONFLICT DO NOTHING`
	live, expired = "1 hour", "-60 d"
	analyze       = "VACUUM (ANALYZE) applock.appl_lock, applock.appl_lock_waiter"
)

// Goal: a key or an index is the only way to a row, whatever the statistics say and whenever the plans were made: nothing
// reads the table for each grant, each waiter or each page. Method: statistics that are missing, stale, of one row, of a
// time when little was locked, and from after a purge, and plans from a time when the tables had one row; count the
// rows that the statements inside handle, which are millions for a quadratic plan.
func TestHeavyPlansWithTheWorstStatistics(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, pool *pgxpool.Pool){
		"none": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			fillBoth(t, pool, plannedRows, live)
		},
		"of one row": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			fillBoth(t, pool, 1, live)
			call(t, pool, analyze)
			call(t, pool, "TRUNCATE applock.appl_lock, applock.appl_lock_waiter")
			call(t, pool, "UPDATE pg_class SET relpages = 1, reltuples = 1 WHERE relname LIKE 'appl_lock%' AND relkind IN ('r', 'i')")
			fillBoth(t, pool, plannedRows, live)
		},
		"when little was locked": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			fillBoth(t, pool, plannedRows, expired)
			call(t, pool, analyze)
			call(t, pool, "UPDATE applock.appl_lock SET expires_ts = now() + interval '1 hour'")
			call(t, pool, "UPDATE applock.appl_lock_waiter SET expires_ts = now() + interval '1 hour'")
		},
		"after a purge": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			fillBoth(t, pool, plannedRows, expired)
			call(t, pool, "DELETE FROM applock.appl_lock")
			call(t, pool, "DELETE FROM applock.appl_lock_waiter")
			call(t, pool, analyze)
			fillBoth(t, pool, plannedRows, live)
		},
		"plans of a small table": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			fillBoth(t, pool, 1, live)
			call(t, pool, analyze)
			for range 10 { // so that the plans that are kept are made, too
				for _, test := range measuredCalls(t) {
					call(t, pool, test.query, test.args...)
				}
			}
			call(t, pool, "DELETE FROM applock.appl_lock")
			call(t, pool, "DELETE FROM applock.appl_lock_waiter")
			fillBoth(t, pool, plannedRows, live)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.InstalledPostgres(t)
			e := newExplained(t, dsn)
			for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer"} {
				call(t, e.pool, "ALTER TABLE applock."+table+" SET (autovacuum_enabled = off)")
			}
			prepare(t, e.pool)
			for _, test := range measuredCalls(t) {
				if test.before != "" {
					call(t, e.pool, test.before)
				}
				if rows := e.handledRows(t, test.query, test.args...); rows > test.atMost {
					t.Errorf("%s handles %d rows, want at most %d", test.name, rows, test.atMost)
				}
			}
		})
	}
}

// Goal: every statement inside an operation on one object looks at as few pages as a probe of the primary key takes, in a thousand
// rows as in a million; how many statements there are, and how much of the write-ahead log the operation fills, is recorded
// here. That somebody asks for the object costs none of them more. Method: auto_explain counts both for the statements inside, once the
// operation has been called before; a fifth more of the log is allowed, for what depends on the values. A vacuum takes off what
// an earlier call would have a later one tidy up. The record of the commit is not counted.
func TestHeavyEachStatementIsOneProbe(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	call(t, e.pool, "ALTER TABLE applock.appl_lock SET (autovacuum_enabled = off)")
	// A larger table has a deeper index, and whether a page of the map of free space is looked at depends on what was there before.
	for _, size := range []struct{ rows, more int }{{1000, 2}, {1_000_000, 4}} {
		call(t, e.pool, "TRUNCATE applock.appl_lock")
		call(t, e.pool, fillLocks, size.rows, live)
		call(t, e.pool, analyze)
		call(t, e.pool, "SELECT FROM applock.ask_appl_lock_row('customer', '500', 'ABEL', NULL, 'asks', NULL, NULL)")
		call(t, e.pool, "UPDATE applock.appl_lock_ask SET expires_ts = now() + interval '1 day'")
		for _, probe := range probes() {
			statements, pages, bytes := e.cost(t, probe)
			if statements != probe.statements || pages > probe.pages+size.more || bytes > probe.bytes+probe.bytes/5 {
				t.Errorf("%s, %d rows: %d statements, the greatest of them of %d pages, %d bytes of log, want %d, at most %d and %d",
					probe.name, size.rows, statements, pages, bytes, probe.statements, probe.pages+size.more, probe.bytes)
			}
		}
	}
}

// probe is an operation on one object with what it costs in a table of a thousand rows: statements inside, pages of the one that
// looks at most of them, and bytes of log.
type probe struct {
	name                     string
	before                   string
	query                    string
	statements, pages, bytes int
}

func probes() []probe {
	const (
		held  = "SELECT * FROM applock.get_appl_lock_row('customer', '500', 'JDOE', NULL, 60)"
		free  = "SELECT * FROM applock.release_appl_lock_row('customer', '500', 'JDOE', NULL, NULL, NULL)"
		grant = `UPDATE applock.appl_lock SET operator_id = 'JDOE', fence = 500, expires_ts = now() + interval '1 hour', released_ts = NULL
			WHERE object_type = 'customer' AND object_id = '500'`
	)
	return []probe{
		{"get without a row", "DELETE FROM applock.appl_lock WHERE object_id = '500'", held, 4, 9, 249},
		{"renewing get", grant, held, 3, 6, 111},
		{"get of a free row", free, held, 3, 6, 111},
		{"refused get", grant, "SELECT * FROM applock.get_appl_lock_row('customer', '500', 'ASMITH', NULL, 60)", 1, 3, 0},
		{"inquire", grant, "SELECT * FROM applock.inquire_appl_lock_row('customer', '500')", 1, 3, 0},
		{"assert", grant, "SELECT * FROM applock.assert_appl_lock_row('customer', '500', 'JDOE', 500)", 1, 5, 54},
		{
			"renew", grant,
			`SELECT * FROM applock.renew_appl_locks('[{"object_type": "customer", "object_id": "500", "operator_id": "JDOE", "fence": 500, "ttl_seconds": 60}]')`,
			4, 11, 131,
		},
		{"transfer", grant, "SELECT * FROM applock.transfer_appl_lock_row('customer', '500', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)", 4, 9, 971},
		{"take", grant, "SELECT * FROM applock.take_appl_lock_row('customer', '500', 'BOSS', '', 'why', 500, NULL)", 5, 9, 971},
		{"refused take", grant, "SELECT * FROM applock.take_appl_lock_row('customer', '500', 'BOSS', '', 'why', 1, NULL)", 2, 3, 0},
		{"ask", grant, "SELECT * FROM applock.ask_appl_lock_row('customer', '500', 'BROWN', NULL, 'tab', NULL, NULL)", 2, 9, 400},
		{"note", grant, "SELECT * FROM applock.note_appl_lock_row('customer', '500', 'JDOE', NULL, 'why')", 1, 6, 77},
		{"release", grant, free, 1, 6, 76},
		{"refused release", grant, "SELECT * FROM applock.release_appl_lock_row('customer', '500', 'ASMITH', NULL, NULL, NULL)", 2, 3, 0},
	}
}

// cost counts the statements inside, the pages of the one that looks at most of them, and the bytes of log of them all: of each the
// least in a few calls. What a server does in one call of many is not what the operation costs: it looks up what it then
// keeps, logs a whole page after a checkpoint, or logs that a sequence has gone on.
func (e *explained) cost(t *testing.T, probe probe) (statements, pages, bytes int) {
	t.Helper()
	const calls, enough = 12, 4
	counted := 0
	for attempt := range calls {
		call(t, e.pool, probe.before)
		call(t, e.pool, "VACUUM applock.appl_lock")
		plans := e.plansOf(t, probe.query)
		statementsNow, pagesNow, bytesNow, wholePages := len(plans)-1, 0, 0, 0
		for _, plan := range plans[:statementsNow] {
			pagesNow = max(pagesNow, plan.Hit+plan.Read)
			bytesNow += plan.WALBytes
			wholePages += plan.WALPages
		}
		if attempt == 0 || wholePages > 0 {
			continue
		}
		if counted == 0 {
			statements, pages, bytes = statementsNow, pagesNow, bytesNow
		}
		statements, pages, bytes = min(statements, statementsNow), min(pages, pagesNow), min(bytes, bytesNow)
		if counted++; counted == enough {
			break
		}
	}
	if counted == 0 {
		t.Fatalf("%s: each of %d calls logged a whole page", probe.name, calls)
	}
	return statements, pages, bytes
}

type measuredCall struct {
	name   string
	atMost int
	query  string
	args   []any
	before string
}

// measuredCalls may handle what is proportional to what they answer, and no more. A purge has to find what is old.
func measuredCalls(t *testing.T) []measuredCall {
	t.Helper()
	var grants []db.RenewableGrant
	for n := range int64(plannedGrants) {
		grants = append(grants, db.RenewableGrant{ObjectType: "customer", ObjectID: fmt.Sprint(n*20 + 1), OperatorID: "JDOE", Fence: n*20 + 1, TTLSeconds: 7200})
	}
	const perRow, once, page = 30, 100, 100
	return []measuredCall{
		{"poll", perRow * plannedGrants, "SELECT * FROM applock.poll_appl_locks('p1', 10000)", nil, ""},
		{"inbox", 16 * plannedRows, "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, 10000)", nil, ""},
		{"see", once, "SELECT * FROM applock.see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', 'EDITING', NULL)", nil, fillPresence},
		{"ask", once, "SELECT * FROM applock.ask_appl_lock_row('customer', '1', 'BROWN', NULL, 'tab', '', NULL)", nil, fillPresence},
		{"answer", once, "SELECT * FROM applock.answer_appl_lock_row('customer', '1', 'JDOE', 1, 'BROWN', NULL, 'LATER', NULL)", nil, fillPresence},
		{"give", once, "SELECT * FROM applock.answer_appl_lock_row('customer', '2', 'JDOE', 2, 'BROWN', NULL, 'GIVE', NULL)", nil, fillPresence},
		{"withdrawal", once, "SELECT * FROM applock.ask_appl_lock_row('customer', '3', 'BROWN', NULL, 'tab', '', 0)", nil, fillPresence},
		{"own", once, "SELECT * FROM applock.ask_appl_lock_row('customer', '4', 'JDOE', NULL, 'tab', '', NULL)", nil, fillPresence},
		{"permit", perRow*plannedGrants + once, "SELECT * FROM applock.get_appl_lock_permit('room', 'desk', $1, 'JDOE', '', 60)", []any{plannedGrants}, ""},
		{"renew", perRow*plannedGrants + once, "SELECT * FROM applock.renew_appl_locks($1)", []any{document(t, grants...)}, ""},
		{"renew one", perRow + once, "SELECT * FROM applock.renew_appl_locks($1)", []any{document(t, grants[0])}, ""},
		{
			"transfers", perRow*page + once,
			"SELECT * FROM applock.transfer_appl_locks('JDOE', NULL, 'ASMITH', '', NULL, NULL, NULL, 'customer', '5', $1, NULL)", []any{page}, "",
		},
		{
			"releases", perRow*page + once,
			"SELECT * FROM applock.release_appl_locks('ASMITH', 'customer', 'BOSS', 'ill', 'customer', '5', $1, NULL)", []any{page}, "",
		},
		{
			"poll of what is free", perRow * plannedGrants, "SELECT * FROM applock.poll_appl_locks('p1', 10000)", nil,
			"UPDATE applock.appl_lock SET expires_ts = now() - interval '60 d'",
		},
		{"purge", 4*plannedRows + perRow*plannedGrants, "SELECT * FROM applock.purge_appl_locks_row(1, $1)", []any{plannedGrants}, ""},
		{
			"purge of waiters", 4*plannedRows + perRow*plannedGrants, "SELECT * FROM applock.purge_appl_locks_row(1, $1)", []any{plannedGrants},
			"UPDATE applock.appl_lock_waiter SET expires_ts = now() - interval '60 d'",
		},
	}
}

// Goal: an inbox reads of the history what an operator lost or got behind the event that it has seen, and as many of these as it
// answers, whatever the statistics say. Method: a history in which most events are others', and one in which all are the operator's;
// count the rows that the statements inside handle.
func TestHeavyInboxReadsTheOperatorsEvents(t *testing.T) {
	t.Parallel()
	const fillEvents = `INSERT INTO applock.appl_lock_event
			(event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason)
		SELECT now(), 'customer', n, $3, 'BOSS', '', '', CASE WHEN n % $2 = 0 THEN 'JDOE' ELSE 'OTHER' END, '',
			CASE WHEN n % $2 = 1 THEN 'JDOE' ELSE 'ANOTHER' END, '', n, n + 1, 'why' FROM generate_series(1, $1::int) AS n`
	for name, prepare := range map[string]func(t *testing.T, pool *pgxpool.Pool){
		"none": func(*testing.T, *pgxpool.Pool) {},
		"of one": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, "UPDATE pg_class SET relpages = 1, reltuples = 1 WHERE relname LIKE 'appl_lock_event%' AND relkind IN ('r', 'i')")
		},
		"right": func(t *testing.T, pool *pgxpool.Pool) {
			t.Helper()
			call(t, pool, "ANALYZE applock.appl_lock_event")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.InstalledPostgres(t)
			e := newExplained(t, dsn)
			call(t, e.pool, "ALTER TABLE applock.appl_lock_event SET (autovacuum_enabled = off)")
			for _, history := range []struct {
				what           string
				everyNth       int
				event          string
				after, maxRows int64
				answers, reads int
			}{
				{"few of many", 2000, "TRANSFERRED", 1, 100, 19, 340},
				{"one of many", 2000, "TRANSFERRED", plannedRows - 1, 100, 1, 30},
				{"a page of half", 2, "TRANSFERRED", 1, 10, 10, 280},
				{"none of half", 2, "TRANSFERRED", plannedRows, 10, 0, 20},
				{"one of half", 2, "TRANSFERRED", plannedRows - 1, 10, 1, 30},
			} {
				call(t, e.pool, "TRUNCATE applock.appl_lock_event RESTART IDENTITY")
				call(t, e.pool, fillEvents, plannedRows, history.everyNth, history.event)
				prepare(t, e.pool)
				const inbox = "SELECT * FROM applock.inbox_appl_locks('JDOE', $1, $2)"
				var answers int
				count := e.pool.QueryRow(t.Context(), "SELECT count(*) FROM applock.inbox_appl_locks('JDOE', $1, $2)", fmt.Sprint(history.after), history.maxRows)
				if err := count.Scan(&answers); err != nil || answers != history.answers {
					t.Errorf("%s: %d answers, %v, want %d", history.what, answers, err, history.answers)
				}
				if rows := e.handledRows(t, inbox, fmt.Sprint(history.after), history.maxRows); rows > history.reads {
					t.Errorf("%s: the inbox handles %d rows, want at most %d", history.what, rows, history.reads)
				}
			}
		})
	}
}

func fillBoth(t *testing.T, pool *pgxpool.Pool, rows int, lasting string) {
	t.Helper()
	call(t, pool, fillLocks, rows, lasting)
	call(t, pool, fillWaiters, rows, lasting)
}

// explained is a connection on which the server tells what each statement has done, also those inside functions.
type explained struct {
	pool  *pgxpool.Pool
	plans []string
}

// newExplained returns a pool of one connection, which keeps its plans.
func newExplained(t *testing.T, dsn string) *explained {
	t.Helper()
	e := &explained{}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if _, plan, found := strings.Cut(notice.Message, "plan:"); found {
			e.plans = append(e.plans, plan)
		}
	}
	if e.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.pool.Close)
	return e
}

// handledRows counts the rows that all steps of all plans of a call have handled, those they threw away included.
func (e *explained) handledRows(t *testing.T, query string, args ...any) int {
	t.Helper()
	rows := 0
	for _, plan := range e.plansOf(t, query, args...) {
		rows += plan.rows()
	}
	return rows
}

// lookedAt counts the rows that all statements of some work have handled, and the pages that they have looked at.
func (e *explained) lookedAt(t *testing.T, work func()) (rows, pages int) {
	t.Helper()
	for _, plan := range e.plansOfWork(t, "the work", work) {
		rows += plan.rows()
		pages += plan.Hit + plan.Read
	}
	return rows, pages
}

// plansOf returns what the server has done for each statement of a call: those inside first, and the call itself at the end.
func (e *explained) plansOf(t *testing.T, query string, args ...any) []planStep {
	t.Helper()
	return e.plansOfWork(t, query, func() { call(t, e.pool, query, args...) })
}

func (e *explained) plansOfWork(t *testing.T, query string, work func()) []planStep {
	t.Helper()
	for _, statement := range []string{
		"LOAD 'auto_explain'", "SET auto_explain.log_min_duration = 0", "SET auto_explain.log_analyze = on", "SET auto_explain.log_timing = off",
		"SET auto_explain.log_buffers = on", "SET auto_explain.log_wal = on",
		"SET auto_explain.log_nested_statements = on", "SET auto_explain.log_format = json", "SET auto_explain.log_level = notice",
	} {
		call(t, e.pool, statement)
	}
	e.plans = nil
	work()
	texts := e.plans
	call(t, e.pool, "SET auto_explain.log_min_duration = -1")
	if len(texts) == 0 {
		t.Fatalf("no plan of %s", query)
	}
	plans := make([]planStep, len(texts))
	for i, text := range texts {
		var explained struct {
			Plan planStep
			JIT  any
		}
		if err := json.Unmarshal([]byte(text), &explained); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if explained.JIT != nil {
			t.Errorf("%s: the server compiles a statement, which takes longer than it: %v", query, explained.JIT)
		}
		plans[i] = explained.Plan
	}
	return plans
}

// planStep is a step of a plan; numbers of rows are those of one loop.
type planStep struct {
	Loops    float64    `json:"Actual Loops"`
	Answered float64    `json:"Actual Rows"`
	Filtered float64    `json:"Rows Removed by Filter"`
	Unjoined float64    `json:"Rows Removed by Join Filter"`
	Hit      int        `json:"Shared Hit Blocks"` // with those of the steps below, as are the next ones
	Read     int        `json:"Shared Read Blocks"`
	WALBytes int        `json:"WAL Bytes"`
	WALPages int        `json:"WAL FPI"`
	Steps    []planStep `json:"Plans"`
}

func (s planStep) rows() int {
	rows := int(s.Loops * (s.Answered + s.Filtered + s.Unjoined))
	for _, step := range s.Steps {
		rows += step.rows()
	}
	return rows
}
