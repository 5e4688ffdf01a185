package db2_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/testclient"
)

const (
	inAnHour  = "LOCALTIMESTAMP + INTERVAL '1' HOUR"
	anHourAgo = "LOCALTIMESTAMP - INTERVAL '1' HOUR"
	twoHours  = "LOCALTIMESTAMP + INTERVAL '2' HOUR"
)

// Goal: a procedure reads again, at most thirty times, if the row has changed between its read and its write. Method: another caller's
// change is made by a procedure that is called between the first statement and the second; HSQLDB itself would run the whole call again.
func changeBetweenReadAndDecision(t *testing.T, bridge *hsqldb.Bridge) {
	insert := func(operator, expires string) string {
		return "INSERT INTO applock.appl_lock VALUES ('a', '1', '" + operator + "', '', 5, " +
			"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', 60, " + expires + ", '', 'N', NULL)"
	}
	change := func(assignments string) string { return "UPDATE applock.appl_lock SET " + assignments }
	const (
		get      = "CALL applock.get_appl_lock_row('a', '1', 'JDOE', '', 60, NULL)"
		release  = "CALL applock.release_appl_lock_row('a', '1', 'JDOE', NULL, NULL, NULL)"
		transfer = "CALL applock.transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)"
		take     = "CALL applock.take_appl_lock_row('a', '1', 'BOSS', '', 'why', 5, 60)"
		takeAny  = "CALL applock.take_appl_lock_row('a', '1', 'BOSS', '', 'why', NULL, 60)"
		note     = "CALL applock.note_appl_lock_row('a', '1', 'JDOE', NULL, 'why')"
		purge    = "CALL applock.purge_appl_locks_row(60, 10)"
		renew    = "CALL applock.renew_appl_locks('1:a1:14:JDOE1:52:60')"
		announce = "CALL applock.announce_appl_lock_waiter_row('a', '1', 'JDOE', '', 'p', NULL)"

		ask   = "CALL applock.ask_appl_lock_row('a', '1', 'BROWN', '', 'p', '', NULL)"
		give  = "CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', NULL, 'GIVE', NULL)"
		later = "CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', 'p', 'LATER', NULL)"

		released     = "released_ts = LOCALTIMESTAMP"
		insertWaiter = "INSERT INTO applock.appl_lock_waiter VALUES ('a', '1', 'JDOE', '', 'p', " +
			"TIMESTAMP '2026-01-01 00:00:00', NULL, " + anHourAgo + ", '')"
		insertAsk = "INSERT INTO applock.appl_lock_ask VALUES ('a', '1', 'BROWN', '', 'p', '', " +
			"TIMESTAMP '2026-01-01 00:00:00', NULL, " + inAnHour + ", 'JDOE', 5, " + anHourAgo + ", '', '', NULL, NULL)"
		withdraw = "DELETE FROM applock.appl_lock_ask"
	)
	asked := insert("JDOE", inAnHour) + "; " + insertAsk
	yielding := asked + "; " + change("ttl_seconds = 3600") + "; INSERT INTO applock.appl_lock_policy VALUES ('a', NULL, NULL, 'Y', 'CHANGES', 'Y', 60)"
	b := newBetween(t, bridge, "between")
	for _, test := range []struct{ before, meanwhile, call, want string }{
		{"", insert("QUICK", inAnHour), get, "N HELD QUICK"},
		{insert("OLD", anHourAgo), change("operator_id = 'QUICK', fence = 6, expires_ts = " + inAnHour), get, "N HELD QUICK"},
		{insert("OLD", anHourAgo), change("operator_id = 'QUICK', expires_ts = " + inAnHour), get, "N HELD QUICK"},
		{insert("OLD", inAnHour), change("fence = 6"), get, "N HELD OLD"},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), get, "N HELD QUICK"},
		{insert("JDOE", inAnHour), change("expires_ts = " + anHourAgo), get, "Y ACQUIRED "},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), release, "N HELD QUICK"},
		{insert("JDOE", inAnHour), change("expires_ts = " + anHourAgo), release, "Y FREE "},
		{insert("JDOE", inAnHour), change("expires_ts = " + twoHours), release, "Y RELEASED "},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), transfer, "N HELD QUICK"},
		{insert("JDOE", inAnHour), change("expires_ts = " + anHourAgo), transfer, "N FREE "},
		{insert("JDOE", inAnHour), change("expires_ts = " + twoHours), transfer, "Y TRANSFERRED "},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), take, "N HELD QUICK"},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), takeAny, "Y TAKEN QUICK"},
		{insert("JDOE", inAnHour), change("expires_ts = " + anHourAgo), take, "N FREE "},
		{insert("JDOE", inAnHour), change("expires_ts = " + twoHours), take, "Y TAKEN JDOE"},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), note, "N HELD QUICK"},
		{insert("JDOE", inAnHour), change("expires_ts = " + anHourAgo), note, "N FREE "},
		{insert("JDOE", inAnHour), change("expires_ts = " + twoHours), note, "Y NOTED "},
		{insert("JDOE", inAnHour), change(released), get, "Y ACQUIRED "},
		{insert("JDOE", inAnHour), change(released), release, "Y FREE "},
		{insert("JDOE", inAnHour), change(released), transfer, "N FREE "},
		{insert("JDOE", inAnHour), change(released), take, "N FREE "},
		{insert("JDOE", inAnHour), change(released), note, "N FREE "},
		{insert("JDOE", inAnHour), change(released), renew, "no row"},
		{insert("JDOE", inAnHour), change("lock_ts = LOCALTIMESTAMP"), renew, "no row"},
		{insert("JDOE", inAnHour), change("note = 'why'"), get, "Y RENEWED "},
		{insert("OLD", anHourAgo), change("fence = 6"), purge, "0"},
		{insert("OLD", anHourAgo), change(released), purge, "0"},
		{insert("OLD", anHourAgo), change("expires_ts = " + inAnHour), purge, "0"},
		{insert("JDOE", inAnHour), change("operator_id = 'QUICK', fence = 6"), renew, "no row"},
		{insert("JDOE", inAnHour), change("expires_ts = LOCALTIMESTAMP"), renew, "no row"},
		{insert("JDOE", inAnHour), change("expires_ts = " + twoHours), renew, "no row"},
		{"", insertWaiter, announce, "Y"},
		{insert("JDOE", inAnHour), insertAsk, ask, "Y ASKED JDOE"},
		{asked, withdraw, ask, "Y ASKED JDOE"},
		{asked, withdraw, later, "N GONE "},
		{asked, "UPDATE applock.appl_lock_ask SET expires_ts = " + anHourAgo, later, "N GONE "},
		{asked, "UPDATE applock.appl_lock_ask SET client_id = 'q'", later, "N GONE "},
		{asked, change("operator_id = 'QUICK', fence = 6"), give, "N HELD QUICK"},
		{asked, change("fence = 6"), give, "N HELD JDOE"},
		{asked, change("expires_ts = " + anHourAgo), give, "N FREE "},
		{asked, change(released), give, "N FREE "},
		{asked, change("lock_ts = LOCALTIMESTAMP, expires_ts = " + twoHours), give, "Y GIVEN "},
		{asked, withdraw, give, "N GONE "},
		{yielding, "UPDATE applock.changes SET times = 0", ask, "Y GIVEN JDOE"},
		{yielding, change("lock_ts = LOCALTIMESTAMP"), ask, "Y ASKED JDOE"},
		{yielding, change("fence = 6"), ask, "Y ASKED JDOE"},
		{yielding, change("expires_ts = " + anHourAgo), ask, "Y ASKED JDOE"},
		{yielding, change(released), ask, "Y ASKED JDOE"},
		{yielding, "UPDATE applock.appl_lock_ask SET edited_ts = LOCALTIMESTAMP", ask, "Y ASKED JDOE"},
		{yielding, "UPDATE applock.appl_lock_ask SET answered_ts = LOCALTIMESTAMP", ask, "Y ASKED JDOE"},
	} {
		if got, _ := b.call(t, 1, test.before, test.meanwhile, test.call); got != test.want {
			t.Errorf("%s, meanwhile %s: %s, want %s", test.call, test.meanwhile, got, test.want)
		}
	}
	// What a renewal does not tell it has not done, and a purge leaves a waiter that has come back.
	ended := change("released_ts = TIMESTAMP '2026-01-02 00:00:00'")
	if _, left := b.call(t, 1, insert("JDOE", inAnHour), ended, renew); left != "1 of 1 ended" {
		t.Errorf("a release meanwhile was undone by a renewal: %s", left)
	}
	back := "UPDATE applock.appl_lock_waiter SET expires_ts = " + inAnHour
	if _, left := b.call(t, 1, insertWaiter, back, purge); left != "0 of 1 ended" {
		t.Errorf("a purge removed a waiter that came back: %s", left)
	}
	dead, alive := "UPDATE applock.appl_lock_ask SET expires_ts = "+anHourAgo, "UPDATE applock.appl_lock_ask SET expires_ts = "+inAnHour
	if _, left := b.call(t, 1, insertAsk+"; "+dead, alive, purge); left != "0 of 1 ended" {
		t.Errorf("a purge removed a request that came back: %s", left)
	}
	for _, call := range []string{get, release, transfer, takeAny, note} {
		restless := change("fence = fence + 1")
		if got, _ := b.call(t, 30, insert("JDOE", inAnHour), restless, call); got != "LK003" {
			t.Errorf("%s with thirty changes: %s, want LK003", call, got)
		}
		if got, _ := b.call(t, 29, insert("JDOE", inAnHour), restless, call); got[0] != 'Y' {
			t.Errorf("%s with 29 changes: %s, want yes in the thirtieth round", call, got)
		}
	}
}

// Goal: a value that NULL keeps, and the note, are those of the changed row, not of the one that was read. Method: as above; the row then.
func nullKeepsWhatIsChanged(t *testing.T, bridge *hsqldb.Bridge) {
	insert := func(operator, department, ttl string) string {
		return "INSERT INTO applock.appl_lock VALUES ('a', '1', '" + operator + "', '" + department + "', 5, " +
			"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', " + ttl + ", TIMESTAMP '2099-01-01 00:00:00', '', 'N', NULL)"
	}
	change := func(assignments string) string { return "UPDATE applock.appl_lock SET " + assignments }
	const (
		get      = "CALL applock.get_appl_lock_row('a', '1', 'JDOE', NULL, NULL, NULL)"
		transfer = "CALL applock.transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', 'HQ', NULL, NULL, NULL)"
		take     = "CALL applock.take_appl_lock_row('a', '1', 'BOSS', 'HQ', 'why', 5, NULL)"
		longer   = "ttl_seconds = 3600, lock_ts = TIMESTAMP '2026-01-01 01:00:00'"
		ends     = "expires_ts = TIMESTAMP '2026-01-02 00:00:00'"
	)
	b := newBetween(t, bridge, "null")
	for _, test := range []struct{ before, meanwhile, call, want string }{
		{insert("JDOE", "CS", "60"), change("department_id = 'HQ', lock_ts = TIMESTAMP '2026-01-01 01:00:00'"), get, "JDOE HQ 60 "},
		{insert("JDOE", "CS", "60"), change("note = 'why'"), get, "JDOE CS 60 why"},
		{insert("JDOE", "CS", "60"), change(longer), get, "JDOE CS 3600 "},
		{insert("JDOE", "CS", "60"), change("note = 'why', " + ends), get, "JDOE  604800 "},
		{"", insert("JDOE", "CS", "60"), get, "JDOE CS 60 "},
		{insert("JDOE", "CS", "60"), change("note = 'why', " + longer), transfer, "ASMITH HQ 3600 "},
		{insert("JDOE", "CS", "60"), change("note = 'why', " + longer), take, "BOSS HQ 3600 "},
	} {
		b.call(t, 1, test.before, test.meanwhile, test.call)
		rows, err := query(t.Context(), b.DB, "SELECT operator_id, department_id, ttl_seconds, note FROM applock.appl_lock")
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v, want one row", rows, err)
		}
		row := rows[0]
		if got := fmt.Sprint(row["operator_id"], " ", row["department_id"], " ", row["ttl_seconds"], " ", row["note"]); got != test.want {
			t.Errorf("%s, meanwhile %s: %s, want %s", test.call, test.meanwhile, got, test.want)
		}
	}
}

// between is a database in which another caller's change is made between the statements of a call.
type between struct {
	*sql.DB
	bridge       *hsqldb.Bridge
	database     string
	instrumented map[string]bool
}

// newBetween installs into a new database; it is closed when the test ends.
func newBetween(t *testing.T, bridge *hsqldb.Bridge, database string) *between {
	t.Helper()
	handle, err := bridge.Open(t.Context(), database, hsqldb.MVCC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	if _, err := migrate.Up(t.Context(), testclient.DB2(t, handle), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	b := &between{DB: handle, bridge: bridge, database: database, instrumented: map[string]bool{}}
	b.exec(t,
		"CREATE TABLE applock.changes (times INTEGER NOT NULL)",
		"CREATE PROCEDURE applock.between_s1_and_s2 () MODIFIES SQL DATA SPECIFIC between_s1_and_s2 BEGIN ATOMIC DECLARE changed INTEGER; SET changed = 0; END")
	return b
}

func (b *between) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := b.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// call makes the change that many times during a call, only on rows from before the call. It returns the answer, and how many of the
// present rows have ended.
func (b *between) call(t *testing.T, times int, before, meanwhile, call string) (answer, left string) {
	t.Helper()
	b.instrument(t, call)
	b.exec(t, "DELETE FROM applock.appl_lock", "DELETE FROM applock.appl_lock_waiter", "DELETE FROM applock.appl_lock_viewer", "DELETE FROM applock.appl_lock_event",
		"DELETE FROM applock.appl_lock_fence", "DELETE FROM applock.appl_lock_ask", "DELETE FROM applock.appl_lock_viewer", "DELETE FROM applock.appl_lock_policy", "DELETE FROM applock.changes",
		fmt.Sprintf("INSERT INTO applock.changes VALUES (%d)", times),
		"ALTER SPECIFIC ROUTINE applock.between_s1_and_s2 BODY BEGIN ATOMIC "+
			"DECLARE changed INTEGER DEFAULT 0; "+
			"UPDATE applock.changes SET times = times - 1 WHERE times > 0; "+
			"GET DIAGNOSTICS changed = ROW_COUNT; "+
			"IF changed = 1 THEN "+meanwhile+"; END IF; END")
	if before != "" {
		b.exec(t, strings.Split(before, "; ")...)
	}
	rows, err := query(t.Context(), b.DB, call)
	counted, countErr := query(t.Context(), b.DB, "SELECT COUNT(*) AS there, SUM(CASE WHEN expires_ts < LOCALTIMESTAMP THEN 1 ELSE 0 END) AS ended "+
		"FROM (SELECT COALESCE(released_ts, expires_ts) AS expires_ts FROM applock.appl_lock UNION ALL SELECT expires_ts FROM applock.appl_lock_waiter "+
		"UNION ALL SELECT expires_ts FROM applock.appl_lock_ask)")
	if countErr != nil {
		t.Fatal(countErr)
	}
	left = fmt.Sprintf("%v of %v ended", counted[0]["ended"], counted[0]["there"])
	if err != nil {
		diagnosis, _ := db2.AnswerOf(err)
		return diagnosis.State, left
	}
	if len(rows) == 0 {
		return "no row", left
	}
	var words []string
	for _, column := range []string{"p_purged", "p_ok_fl", "p_outcome", "p_old_operator_id", "outcome"} {
		if word, found := rows[0][column]; found {
			words = append(words, fmt.Sprint(word))
		}
	}
	return strings.Join(words, " "), left
}

// instrument replaces what a call calls, once, with the same text that has the change in it.
func (b *between) instrument(t *testing.T, call string) {
	t.Helper()
	operation := regexp.MustCompile(`applock\.(\w+?)(?:_row)?\(`).FindStringSubmatch(call)[1]
	if operation == "take_appl_lock" || operation == "transfer_appl_lock" {
		operation = "appl_lock_move"
	}
	if b.instrumented[operation] {
		return
	}
	b.instrumented[operation] = true
	text, err := render.File("db2/" + operation + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	handle := b.bridge.Between(b.database, "applock.between_s1_and_s2")
	defer func() { _ = handle.Close() }()
	handle.SetMaxOpenConns(1)
	_, statements, _ := strings.Cut(text, terminatorLine)
	for statement := range strings.SplitSeq("SET CURRENT SCHEMA = applock\n@\n"+statements, "\n@\n") {
		if _, err := handle.ExecContext(t.Context(), strings.TrimSpace(statement)); err != nil {
			t.Fatal(err)
		}
	}
}
