package postgres_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/testing/testclient"
)

const (
	heartbeat  = "SELECT * FROM applock.see_appl_lock('customer', $1, $2, 'CS', 'tab', 'VIEWING')"
	viewerRows = "SELECT count(*) FROM applock.appl_lock_viewer WHERE object_id = '7'"
	// strangers look at other objects.
	strangers = `INSERT INTO applock.appl_lock_viewer
		SELECT 'customer', 'x' || n, 'STRANGER', '', 'tab', 'VIEWING', now(), now(), now() + interval '1 hour' FROM generate_series(1, $1) AS n`
	dead = `INSERT INTO applock.appl_lock_viewer
		SELECT 'customer', '7', 'DEAD' || n, '', 'tab', 'VIEWING', now(), now(), now() - interval '1 hour' FROM generate_series(1, $1) AS n`
)

// Goal: a heartbeat costs no more among a thousand viewers than among ten, nor among a hundred thousand of other objects, whatever the
// statistics say; the dead of its object cost one call. Method: a thousand viewers of a hundred objects call as in three heartbeats of
// 15 s; the rows that the statements inside handle are counted, before and after there are strangers and dead.
func TestHeavyThousandViewers(t *testing.T) {
	t.Parallel()
	const objects, viewers, mostRows = 100, 1000, 120
	// However busy the machine is, no viewer is removed that has called.
	const stay = "UPDATE applock.appl_lock_viewer SET expires_ts = now() + interval '1 hour'"
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	call(t, e.pool, "ALTER TABLE applock.appl_lock_viewer SET (autovacuum_enabled = off)")
	for range 3 {
		for viewer := range viewers {
			if viewer%objects == 0 {
				call(t, e.pool, stay)
			}
			call(t, e.pool, heartbeat, fmt.Sprint(viewer%objects), fmt.Sprintf("V%d", viewer))
		}
		call(t, e.pool, `UPDATE applock.appl_lock_viewer SET since_ts = since_ts - interval '15 s', seen_ts = seen_ts - interval '15 s',
			expires_ts = expires_ts - interval '15 s'`)
	}
	call(t, e.pool, stay)
	if rows := counted(t, e.pool, "SELECT count(*) FROM applock.appl_lock_viewer"); rows != viewers {
		t.Errorf("%d rows of %d viewers", rows, viewers)
	}
	for _, step := range []struct {
		what string
		work string
		args []any
	}{
		{"of a thousand", "SELECT 1", nil},
		{"with strangers", strangers, []any{100_000}},
		{"with statistics of one row", "UPDATE pg_class SET relpages = 1, reltuples = 1 WHERE relname LIKE 'appl_lock_viewer%' AND relkind IN ('r', 'i')", nil},
		{"with right statistics", "ANALYZE applock.appl_lock_viewer", nil},
	} {
		call(t, e.pool, step.work, step.args...)
		if rows := e.handledRows(t, heartbeat, "7", "V7"); rows > mostRows {
			t.Errorf("%s: a heartbeat handles %d rows, want at most %d", step.what, rows, mostRows)
		}
	}
	// "My open cases, and who looks at them" reads the viewers of those cases only.
	join := `SELECT v.operator_id FROM generate_series(1, 10) AS c
		LEFT JOIN applock.appl_lock_viewers AS v ON v.object_type = 'customer' AND v.object_id = 'x' || c`
	if rows := e.handledRows(t, join); rows > mostRows {
		t.Errorf("the join with ten cases handles %d rows, want at most %d", rows, mostRows)
	}

	call(t, e.pool, dead, 200)
	call(t, e.pool, heartbeat, "7", "V7")
	if rows := counted(t, e.pool, viewerRows); rows != viewers/objects {
		t.Errorf("%d rows of the object are left, want those of its %d viewers", rows, viewers/objects)
	}
	if rows := e.handledRows(t, heartbeat, "7", "V7"); rows > mostRows {
		t.Errorf("after the dead have gone a heartbeat handles %d rows, want at most %d", rows, mostRows)
	}
}

// Goal: presence writes no log and is no part of a backup's work: the table is unlogged. Method: the catalogue.
func TestViewersAreUnlogged(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	if kind := column(t, pool, "SELECT relpersistence::text FROM pg_class WHERE oid = 'applock.appl_lock_viewer'::regclass")[0]; kind != "u" {
		t.Errorf("the table of viewers is of kind %s, want u", kind)
	}
}

// Goal: the statements of docs/presence.md do what the page says. Method: run them; the first says that one edits, and the join shows it.
func TestPresencePage(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	call(t, pool, "CREATE TABLE support_case (id text PRIMARY KEY, queue text NOT NULL)")
	call(t, pool, "INSERT INTO support_case VALUES ('4711', 'returns'), ('4712', 'returns'), ('4713', 'sales')")
	var answers []int
	for _, statement := range statementsOfPage(t, "../../../docs/presence.md") {
		answers = append(answers, len(column(t, pool, "SELECT a::text FROM ("+statement+") AS a")))
	}
	if fmt.Sprint(answers) != "[0 0 2]" {
		t.Errorf("the statements answer %v rows, want none, none, and one for each case", answers)
	}
	if state := column(t, pool, "SELECT state FROM applock.appl_lock_viewers WHERE object_id = '4711'")[0]; state != "EDITING" {
		t.Errorf("the viewer is %s", state)
	}
}

func counted(t *testing.T, pool *pgxpool.Pool, query string) int {
	t.Helper()
	var rows int
	if err := pool.QueryRow(t.Context(), query).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// statementsOfPage returns the statements of the SQL blocks of a page.
func statementsOfPage(t *testing.T, path string) []string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(page, -1) {
		for statement := range strings.SplitSeq(string(block[1]), ";") {
			if strings.TrimSpace(statement) != "" {
				statements = append(statements, statement)
			}
		}
	}
	return statements
}
