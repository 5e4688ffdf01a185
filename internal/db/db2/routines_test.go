package db2_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/hsqldb"
)

// This file has tests of single routines on HSQLDB, which TestRoutinesOnHSQLDB runs.

// Goal: assert judges what it has locked, and keeps it so. Method: HSQLDB locks tables, and its level does
// what the isolation clause of the statement does on Db2.
func assertKeepsGrant(t *testing.T, bridge *hsqldb.Bridge) {
	databases := hsqldbDatabases{bridge: bridge, control: hsqldb.Locks}
	contract.Interleavings(t, contract.Backend{
		New:      databases.place,
		Levels:   []sql.IsolationLevel{sql.LevelRepeatableRead},
		Excluded: excludedBut(playedWithLocks()...),
	})
}

// Goal: times and fences are UTC, whatever the database's zone is. Method: compare with the clock of this
// machine, which is also the database's.
func timeIsUTC(t *testing.T, databases hsqldbDatabases) {
	t.Parallel()
	client := databases.place(t).Client
	object := applock.Object{Type: "customer", ID: "42"}
	before := time.Now().Add(-time.Second)
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now().Add(time.Second)
	for what, moment := range map[string]time.Time{
		"expires_ts":  grant.ExpiresAt.Add(-time.Hour),
		"acquired_ts": lock.AcquiredAt,
		"fence":       time.UnixMicro(int64(grant.Fence)),
	} {
		if moment.Before(before) || moment.After(after) {
			t.Errorf("%s tells %s, want now, %s", what, moment.UTC(), after.UTC())
		}
	}
}

// Goal: a refused assertion names the holder and his fence. Method: its message.
func assertionNamesTheHolder(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	const call = "CALL applock.assert_appl_lock('customer', '42', 'ASMITH', 1)"
	_, err := place.SQL.ExecContext(t.Context(), call)
	if diagnosis, _ := db2.AnswerOf(err); diagnosis.State != "LK002" || diagnosis.Text != "assert_appl_lock: nobody holds it" {
		t.Errorf("of a free object: %+v", diagnosis)
	}
	grant, err := place.Client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = place.SQL.ExecContext(t.Context(), call)
	want := fmt.Sprintf("assert_appl_lock: held with fence %d by JDOE", grant.Fence)
	if diagnosis, _ := db2.AnswerOf(err); diagnosis.State != "LK002" || diagnosis.Text != want {
		t.Errorf("of a held object: %+v, want %q", diagnosis, want)
	}
}

// Goal: a decision changes its own row only. Method: twins that differ in nothing but type or id; the operations
// change one of them.
func decisionsChangeOneRow(t *testing.T, bridge *hsqldb.Bridge) {
	for _, call := range []string{
		"CALL applock.get_appl_lock_row('a', '1', 'JDOE', '', 7200, NULL)",
		"CALL applock.release_appl_lock_row('a', '1', 'JDOE', NULL, NULL, NULL)",
		"CALL applock.transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
		"CALL applock.take_appl_lock_row('a', '1', 'BOSS', '', 'why', NULL, NULL)",
		"CALL applock.renew_appl_locks('1:a1:14:JDOE1:13:600')",
		"CALL applock.note_appl_lock_row('a', '1', 'JDOE', NULL, 'why')",
	} {
		place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
		for _, object := range []string{"'a', '1'", "'a', '2'", "'b', '1'"} {
			insertGrant(t, place.SQL, object+", 'JDOE'", 1, "TIMESTAMP '2099-01-01 00:00:00'")
		}
		if _, err := query(t.Context(), place.SQL, call); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type, object_id FROM applock.appl_lock "+
			"WHERE released_ts IS NOT NULL OR expires_ts <> TIMESTAMP '2099-01-01 00:00:00' OR lock_ts > acquired_ts OR note <> ''")
		if err != nil || len(rows) != 1 || rows[0]["object_type"] != "a" || rows[0]["object_id"] != "1" {
			t.Errorf("%s changed %v, %v", call, rows, err)
		}
	}
}

// Goal: so does what is said of a waiter. Method: twins that differ in one column of the key.
func waitersAreChangedOneByOne(t *testing.T, bridge *hsqldb.Bridge) {
	for _, test := range []struct{ call, unchanged string }{
		{"CALL applock.announce_appl_lock_waiter_row('a', '1', 'JDOE', 'NEW', 'p', NULL)", "department_id = ''"},
		{"CALL applock.retract_appl_lock_waiter_row('a', '1', 'JDOE', 'p')", "1 = 1"},
	} {
		place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
		insertWaiters(t, place, "TIMESTAMP '2099-01-01 00:00:00'")
		if _, err := query(t.Context(), place.SQL, test.call); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock_waiter WHERE "+test.unchanged)
		if want := len(waiterKeys()) - 1; err != nil || len(rows) != want {
			t.Errorf("%s left %d rows as they were, %v, want %d", test.call, len(rows), err, want)
		}
	}
}

// waiterKeys are the keys of twins.
func waiterKeys() []string {
	return []string{"'a', '1', 'JDOE', '', 'p'", "'b', '1', 'JDOE', '', 'p'", "'a', '2', 'JDOE', '', 'p'", "'a', '1', 'KIM', '', 'p'", "'a', '1', 'JDOE', '', 'q'"}
}

func insertWaiters(t *testing.T, place contract.Place, expires string) {
	t.Helper()
	for _, key := range waiterKeys() {
		insertWaiter(t, place, key, "NULL", expires)
	}
}

func insertWaiter(t *testing.T, place contract.Place, key, until, expires string) {
	t.Helper()
	_, err := place.SQL.ExecContext(t.Context(), "INSERT INTO applock.appl_lock_waiter VALUES ("+key+", "+
		"TIMESTAMP '2026-01-01 00:00:00', "+until+", "+expires+", '')")
	if err != nil {
		t.Fatal(err)
	}
}

// requestKeys are the keys of twins, which differ in one column of the key.
func requestKeys() []string {
	return []string{"'a', '1', 'BROWN', '', 'p'", "'b', '1', 'BROWN', '', 'p'", "'a', '2', 'BROWN', '', 'p'", "'a', '1', 'KIM', '', 'p'", "'a', '1', 'BROWN', '', 'q'"}
}

// insertRequests puts twins into appl_lock_ask, for what JDOE holds by the grant 5.
func insertRequests(t *testing.T, handle *sql.DB, expires string) {
	t.Helper()
	for _, key := range requestKeys() {
		insertRequest(t, handle, key, expires)
	}
}

func insertRequest(t *testing.T, handle *sql.DB, key, expires string) {
	t.Helper()
	_, err := handle.ExecContext(t.Context(), "INSERT INTO applock.appl_lock_ask VALUES ("+key+", 'why', "+
		"TIMESTAMP '2026-01-01 00:00:00', NULL, "+expires+", 'JDOE', 5, NULL, '', '', NULL, NULL)")
	if err != nil {
		t.Fatal(err)
	}
}

// insertYield lays down that locks of a type go to who asks when the holder has not answered for a minute.
func insertYield(t *testing.T, handle *sql.DB, objectType string) {
	t.Helper()
	_, err := handle.ExecContext(t.Context(), "INSERT INTO applock.appl_lock_policy VALUES ('"+objectType+"', 1800, 900, 'Y', 'CHANGES', 'Y', 60)")
	if err != nil {
		t.Fatal(err)
	}
}

// Goal: a request is changed, answered and withdrawn alone; who gets the lock asks with none of its programs any more. Method: twins that
// differ in one column of the key; the rows that are there as they were.
func requestsAreChangedOneByOne(t *testing.T, bridge *hsqldb.Bridge) {
	for call, changed := range map[string]int{
		"CALL applock.ask_appl_lock_row('a', '1', 'BROWN', 'NEW', 'p', 'why', NULL)":            1,
		"CALL applock.ask_appl_lock_row('a', '1', 'BROWN', '', 'p', 'why', 0)":                  1,
		"CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', 'p', 'NO', 'not yet')": 1,
		"CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', NULL, 'LATER', NULL)":  2,
		"CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', 'p', 'GIVE', NULL)":    2,
		"CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 4, 'BROWN', 'p', 'GIVE', NULL)":    0,
		"CALL applock.answer_appl_lock_row('a', '1', 'JDOE', 5, 'brown', NULL, 'GIVE', NULL)":   0,
		"CALL applock.answer_appl_lock_row('a', '1', 'BROWN', 5, 'BROWN', NULL, 'GIVE', NULL)":  0,
		"CALL applock.ask_appl_lock_row('a', '1', 'JDOE', '', 'p', 'why', NULL)":                0,
	} {
		place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
		insertRequests(t, place.SQL, inAnHour)
		for _, object := range []string{"'a', '1'", "'a', '2'", "'b', '1'"} {
			insertGrant(t, place.SQL, object+", 'JDOE'", 5, inAnHour)
		}
		if _, err := query(t.Context(), place.SQL, call); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock_ask WHERE department_id = '' AND answer = ''")
		if want := len(requestKeys()) - changed; err != nil || len(rows) != want {
			t.Errorf("%s left %d rows as they were, %v, want %d", call, len(rows), err, want)
		}
	}
}

// Goal: an inbox marks what it shows, once, and nothing else. Method: requests for several grants, of types with and without a yield,
// in pages with room for them and without; the rows that are marked.
func inboxMarksWhatItShows(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertYield(t, place.SQL, "a")
	insertRequests(t, place.SQL, inAnHour)
	insertRequest(t, place.SQL, "'a', '1', 'DEAD', '', 'p'", anHourAgo)
	insertGrant(t, place.SQL, "'a', '1', 'JDOE'", 5, inAnHour)
	insertGrant(t, place.SQL, "'a', '2', 'JDOE'", 6, inAnHour) // another grant than the one that was met
	insertGrant(t, place.SQL, "'b', '1', 'JDOE'", 5, inAnHour) // a type whose policy has no yield
	insertYield(t, place.SQL, "b")
	for _, statement := range []string{
		"UPDATE applock.appl_lock_policy SET yield_after_seconds = NULL WHERE object_type = 'b'",
		// On the page: BROWN's of p, KIM's, those for the two other grants, BROWN's of q.
		"UPDATE applock.appl_lock_ask SET since_ts = since_ts + INTERVAL '1' SECOND WHERE operator_id = 'KIM'",
		"UPDATE applock.appl_lock_ask SET since_ts = since_ts + INTERVAL '2' SECOND WHERE object_type = 'b' OR object_id = '2'",
		"UPDATE applock.appl_lock_ask SET since_ts = since_ts + INTERVAL '3' SECOND WHERE client_id = 'q'",
	} {
		if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	marked := func(call string) int {
		t.Helper()
		if _, err := query(t.Context(), place.SQL, call); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type, object_id FROM applock.appl_lock_ask WHERE shown_ts IS NOT NULL")
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row["object_type"] != "a" || row["object_id"] != "1" {
				t.Errorf("%s marked the request for %v", call, row)
			}
		}
		return len(rows)
	}
	for _, test := range []struct {
		call string
		want int
	}{
		{"CALL applock.inbox_appl_locks('BROWN', NULL, NULL)", 0},
		{"CALL applock.inbox_appl_locks('JDOE', NULL, 1)", 1},
		{"CALL applock.inbox_appl_locks('JDOE', NULL, 4)", 2},
		{"CALL applock.inbox_appl_locks('JDOE', NULL, 5)", 3},
	} {
		if got := marked(test.call); got != test.want {
			t.Errorf("%s marked %d requests, want %d", test.call, got, test.want)
		}
	}
	const before = "TIMESTAMP '2026-01-01 00:00:00'"
	if _, err := place.SQL.ExecContext(t.Context(), "UPDATE applock.appl_lock_ask SET shown_ts = "+before+" WHERE shown_ts IS NOT NULL"); err != nil {
		t.Fatal(err)
	}
	marked("CALL applock.inbox_appl_locks('JDOE', NULL, NULL)")
	rows, err := query(t.Context(), place.SQL, "SELECT client_id FROM applock.appl_lock_ask WHERE shown_ts = "+before)
	if err != nil || len(rows) != 3 {
		t.Errorf("%d requests are marked since they were first shown, %v, want 3", len(rows), err)
	}
}

// Goal: EDITING counts for the requests that the holder's inbox has shown, of the object, and for no others. Method: twins, one of them
// not shown; the states of two operators, with presence and without; the rows that are marked.
func editingIsForWhoAsks(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertYield(t, place.SQL, "a")
	insertRequests(t, place.SQL, inAnHour)
	change := func(statement string) {
		t.Helper()
		if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ presence, operator, state, want string }{
		{"Y", "JDOE", "'VIEWING'", ""},
		{"Y", "JDOE", "'IDLE'", ""},
		{"Y", "JDOE", "NULL", ""},
		{"Y", "KIM", "'EDITING'", ""},
		{"N", "JDOE", "'EDITING'", ""},
		{"Y", "JDOE", "'EDITING'", "a1/BROWN/p a1/KIM/p"},
	} {
		change("UPDATE applock.appl_lock_ask SET edited_ts = NULL, shown_ts = CASE WHEN client_id = 'p' THEN TIMESTAMP '2026-01-01 00:00:00' END")
		change("UPDATE applock.appl_lock_policy SET presence_fl = '" + test.presence + "'")
		if _, err := query(t.Context(), place.SQL, "CALL applock.see_appl_lock('a', '1', '"+test.operator+"', '', 'tab', "+test.state+", NULL)"); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type || object_id || '/' || operator_id || '/' || client_id AS request "+
			"FROM applock.appl_lock_ask WHERE edited_ts IS NOT NULL ORDER BY request")
		if err != nil {
			t.Fatal(err)
		}
		var requests []string
		for _, row := range rows {
			requests = append(requests, fmt.Sprint(row["request"]))
		}
		if got := strings.Join(requests, " "); got != test.want {
			t.Errorf("%v marked %q, want %q", test, got, test.want)
		}
	}
}

// Goal: a lock goes to who asks when its holder has been silent for as long as the policy says, and not before. Method: one of the times
// from which the silence counts is later, or one of the conditions does not hold.
func silenceYieldsTheLock(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertYield(t, place.SQL, "a")
	ago := func(seconds int) string { return fmt.Sprintf("LOCALTIMESTAMP - INTERVAL '%d' SECOND", seconds) }
	const silent = "UPDATE applock.appl_lock_ask SET shown_ts = TIMESTAMP '2026-01-01 00:00:00'"
	for _, test := range []struct{ change, want string }{
		{silent, "GIVEN"},
		{"UPDATE applock.appl_lock_ask SET shown_ts = " + ago(61), "GIVEN"},
		{"UPDATE applock.appl_lock_ask SET shown_ts = " + ago(50), "ASKED"},
		{"UPDATE applock.appl_lock_ask SET shown_ts = NULL", "ASKED"},
		{silent + ", answered_ts = " + ago(50), "ASKED"},
		{silent + ", answered_ts = " + ago(61), "GIVEN"},
		{silent + ", edited_ts = " + ago(50), "ASKED"},
		{silent + ", edited_ts = " + ago(61), "GIVEN"},
		{silent + ", fence = 4", "ASKED"},
		{silent + ", message = 'another'", "ASKED"},
		{silent + ", expires_ts = " + ago(1), "ASKED"},
		{"UPDATE applock.appl_lock SET lock_ts = " + ago(50), "ASKED"},
		{"UPDATE applock.appl_lock SET lock_ts = " + ago(61), "GIVEN"},
		{"UPDATE applock.appl_lock SET ttl_seconds = 3599", "ASKED"},
		{"UPDATE applock.appl_lock_policy SET yield_after_seconds = NULL", "ASKED"},
	} {
		for _, statement := range []string{
			"DELETE FROM applock.appl_lock", "DELETE FROM applock.appl_lock_ask", "DELETE FROM applock.appl_lock_event",
			"UPDATE applock.appl_lock_policy SET yield_after_seconds = 60",
		} {
			if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		insertGrant(t, place.SQL, "'a', '1', 'JDOE'", 5, inAnHour)
		insertRequests(t, place.SQL, inAnHour)
		for _, statement := range []string{silent, "UPDATE applock.appl_lock SET ttl_seconds = 3600", test.change} {
			if _, err := place.SQL.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := query(t.Context(), place.SQL, "CALL applock.ask_appl_lock_row('a', '1', 'BROWN', 'CS', 'p', 'why', NULL)")
		if err != nil || len(rows) != 1 || rows[0]["p_outcome"] != test.want || rows[0]["p_old_operator_id"] != "JDOE" {
			t.Errorf("after %s: %v, %v, want %s", test.change, rows, err, test.want)
		}
		// The first minute, and the policy's ttl, cut to its longest.
		locks, err := query(t.Context(), place.SQL, "SELECT operator_id FROM applock.appl_lock "+
			"WHERE operator_id = 'BROWN' AND department_id = 'CS' AND ttl_seconds = 900 AND fence > 5 AND note = ''")
		events, eventsErr := query(t.Context(), place.SQL, "SELECT event FROM applock.appl_lock_event "+
			"WHERE event = 'YIELDED' AND actor_id = 'BROWN' AND from_operator_id = 'JDOE' AND reason = 'no answer for 60 s'")
		left, leftErr := query(t.Context(), place.SQL, "SELECT client_id FROM applock.appl_lock_ask WHERE operator_id = 'BROWN' AND object_type = 'a' AND object_id = '1'")
		moved, asks := 0, 2
		if test.want == "GIVEN" {
			moved, asks = 1, 0
		}
		if errors.Join(err, eventsErr, leftErr) != nil || len(locks) != moved || len(events) != moved || len(left) != asks {
			t.Errorf("after %s: %d grants, %d events, %d requests, want %d, %d, %d", test.change, len(locks), len(events), len(left), moved, moved, asks)
		}
	}
}

// Goal: a purge counts what it removes, row by row. Method: twins that differ only in type or id, one at a time.
func purgeRemovesOneRowAtATime(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	objects := []string{"'a', '1'", "'a', '2'", "'b', '1'"}
	for _, object := range objects {
		insertGrant(t, place.SQL, object+", 'JDOE'", 1, "TIMESTAMP '2026-01-02 00:00:00'")
	}
	for left := len(objects) - 1; left >= 0; left-- {
		answer, err := query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(60, 1)")
		if err != nil || answer[0]["p_purged"] != int64(1) {
			t.Errorf("purge: %v, %v, want 1", answer, err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock")
		if err != nil || len(rows) != left {
			t.Errorf("%d rows are left, %v, want %d", len(rows), err, left)
		}
	}
}

// Goal: a purge removes waiters that have been dead for long, as many as asked for, and counts none of them. Method:
// dead twins that differ in one column of the key, and one that is dead for a short time.
func purgeRemovesDeadWaiters(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertWaiters(t, place, "TIMESTAMP '2026-01-02 00:00:00'")
	insertWaiter(t, place, "'c', '1', 'JDOE', '', 'p'", "NULL", "LOCALTIMESTAMP - INTERVAL '30' SECOND")
	for _, left := range []int{4, 2, 1, 1} {
		answer, err := query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(60, 2)")
		if err != nil || answer[0]["p_purged"] != int64(0) {
			t.Errorf("purge: %v, %v, want 0", answer, err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock_waiter ORDER BY object_type DESC")
		if err != nil || len(rows) != left || rows[0]["object_type"] != "c" {
			t.Errorf("%v are left, %v, want %d, with c", rows, err, left)
		}
	}
}

// Goal: a purge removes requests that have been dead for long, as many as asked for, and counts none of them. Method: as for waiters.
func purgeRemovesDeadRequests(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertRequests(t, place.SQL, "TIMESTAMP '2026-01-02 00:00:00'")
	insertRequest(t, place.SQL, "'c', '1', 'BROWN', '', 'p'", "LOCALTIMESTAMP - INTERVAL '30' SECOND")
	for _, left := range []int{4, 2, 1, 1} {
		answer, err := query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(60, 2)")
		if err != nil || answer[0]["p_purged"] != int64(0) {
			t.Errorf("purge: %v, %v, want 0", answer, err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock_ask ORDER BY object_type DESC")
		if err != nil || len(rows) != left || rows[0]["object_type"] != "c" {
			t.Errorf("%v are left, %v, want %d, with c", rows, err, left)
		}
	}
}

// Goal: result sets have the contract's column names. Method: the columns of each answer.
func rowsHaveTheContractsColumns(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	calls := map[string]string{
		"get_appl_lock_permit": "CALL applock.get_appl_lock_permit('a', '1', 1, 'o', NULL, NULL)",
		"transfer_appl_locks":  "CALL applock.transfer_appl_locks('o', NULL, 'p', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"release_appl_locks":   "CALL applock.release_appl_locks('o', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"inbox_appl_locks":     "CALL applock.inbox_appl_locks('o', NULL, NULL)",
		"see_appl_lock":        "CALL applock.see_appl_lock('a', '1', 'o', NULL, 'p', 'IDLE', NULL)",
		"poll_appl_locks":      "CALL applock.poll_appl_locks('p', NULL)",
		"renew_appl_locks":     "CALL applock.renew_appl_locks('1:a1:11:o1:11:1')",
	}
	for _, operation := range db.Contract() {
		if !operation.ResultSet() {
			continue
		}
		var want []string
		for _, column := range operation.Columns {
			want = append(want, strings.ToUpper(column.Name))
		}
		columns, _, err := contract.Rows(t.Context(), place.SQL, calls[operation.Name])
		if err != nil || !slices.Equal(columns, want) {
			t.Errorf("%s answers with %q, %v, want %q", operation.Name, columns, err, want)
		}
	}
	for _, view := range db.Views() {
		var want []string
		for _, column := range view.Columns {
			want = append(want, strings.ToUpper(column.Name))
		}
		columns, _, err := contract.Rows(t.Context(), place.SQL, "SELECT * FROM applock."+view.Name)
		if err != nil || !slices.Equal(columns, want) {
			t.Errorf("%s has the columns %q, %v, want %q", view.Name, columns, err, want)
		}
	}
}

// Goal: a renewal does not wait for the row of a grant that is lost already. Method: another operator takes over an
// expired grant in a transaction that stays open.
func renewalLeavesTheLostAlone(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertGrant(t, place.SQL, "'a', '1', 'OLD'", 5, anHourAgo)
	tx, err := place.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	get := applock.GetRequest{Object: applock.Object{Type: "a", ID: "1"}, Owner: applock.Owner{Operator: "QUICK"}, TTL: time.Hour}
	if _, err := place.Client.WithSQLTx(tx).Get(t.Context(), get); err != nil {
		t.Fatal(err)
	}
	renew := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		grants := []db.RenewableGrant{{ObjectType: "a", ObjectID: "1", OperatorID: "OLD", Fence: 5, TTLSeconds: 60}}
		renewed, err := place.Driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants})
		if err != nil || len(renewed) != 1 {
			t.Fatalf("renewed %v, %v", renewed, err)
		}
		return string(renewed[0].Outcome) + " " + renewed[0].OldOperatorID
	}
	if got := renew(); got != "FREE " {
		t.Errorf("before the commit: %s, want FREE", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := renew(); got != "HELD QUICK" {
		t.Errorf("after the commit: %s, want HELD by QUICK", got)
	}
}

// insertGrant puts a row into appl_lock.
func insertGrant(t *testing.T, handle *sql.DB, object string, fence int64, expires string) {
	t.Helper()
	_, err := handle.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO applock.appl_lock VALUES (%s, '', %d, "+
		"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', 60, %s, '', 'N', NULL)", object, fence, expires))
	if err != nil {
		t.Fatal(err)
	}
}

// Goal: a document that is not read to its end says where, in a message that Db2 does not cut off, and nothing is
// renewed. Method: a good grant before each bad place.
func renewalRefusesDocuments(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertGrant(t, place.SQL, "'a', '1', 'o'", 5, inAnHour)
	const good = "1:a1:11:o1:51:9"
	for rest, want := range map[string]string{
		"x":                                 "no field at character 16",
		":":                                 "no field at character 16",
		" 1:b":                              "no field at character 16",
		"1 :b":                              "no field at character 16",
		"-1:b":                              "no field at character 16",
		"1000:b":                            "no field at character 16",
		"1000:" + strings.Repeat("b", 1000): "no field at character 16",
		"é:b":                               "no field at character 16",
		"1:":                                "no field at character 16",
		"1:b2:2":                            "no field at character 19",
		"1:b1:2":                            "a grant with too few fields",
		"1:b1:21:o1:5":                      "a grant with too few fields",
		"0:1:21:o1:51:9":                    "no valid object_type in grant 2",
		"1: 1:21:o1:51:9":                   "no valid object_type in grant 2",
		"3:b:c1:21:o1:51:9":                 "no valid object_type in grant 2",
		"65:" + strings.Repeat("b", 65) + "1:21:o1:51:9": "no valid object_type in grant 2",
		"1:b0:1:o1:51:9": "no valid object_id in grant 2",
		"1:b256:" + strings.Repeat("é", 256) + "1:o1:51:9": "no valid object_id in grant 2",
		"1:b1:20:1:51:9": "no valid operator_id in grant 2",
		"1:b1:265:" + strings.Repeat("o", 65) + "1:51:9": "no valid operator_id in grant 2",
		"1:b1:21:o0:1:9":                      "no valid fence in grant 2",
		"1:b1:21:o1:01:9":                     "no valid fence in grant 2",
		"1:b1:21:o2:-51:9":                    "no valid fence in grant 2",
		"1:b1:21:o3:5 51:9":                   "no valid fence in grant 2",
		"1:b1:21:o19:92233720368547758081:9":  "no valid fence in grant 2",
		"1:b1:21:o20:009223372036854775811:9": "no valid fence in grant 2",
		"1:b1:21:o1:50:":                      "no valid ttl_seconds in grant 2",
		"1:b1:21:o1:51:0":                     "no valid ttl_seconds in grant 2",
		"1:b1:21:o1:53:9.5":                   "no valid ttl_seconds in grant 2",
		"1:b1:21:o1:59:315360001":             "no valid ttl_seconds in grant 2",
		"1:b1:21:o1:510:3153600000":           "no valid ttl_seconds in grant 2",
		"1:a2:1 1:p1:61:9":                    "the same object twice in grant 2",
		strings.Repeat("1:b1:11:o1:51:91:b1:21:o1:51:9", 499) + "1:c1:11:o1:51:91:c1:21:o1:51:9": "more than 1000 grants",
	} {
		_, err := query(t.Context(), place.SQL, "CALL applock.renew_appl_locks(?)", good+rest)
		diagnosis, _ := db2.AnswerOf(err)
		if diagnosis.State != "LK001" || diagnosis.Text != "renew_appl_locks: p_grants has "+want || len(diagnosis.Text) > messageLimit {
			t.Errorf("%.60s: %+v, want %s", rest, diagnosis, want)
		}
	}
	for _, empty := range []any{nil, ""} {
		_, err := query(t.Context(), place.SQL, "CALL applock.renew_appl_locks(?)", empty)
		if diagnosis, _ := db2.AnswerOf(err); diagnosis.State != "LK001" || diagnosis.Text != "renew_appl_locks: p_grants must not be empty" {
			t.Errorf("%v: %+v", empty, diagnosis)
		}
	}
	rows, err := query(t.Context(), place.SQL, "SELECT object_id FROM applock.appl_lock WHERE lock_ts = TIMESTAMP '2026-01-01 00:00:00'")
	if err != nil || len(rows) != 1 {
		t.Errorf("the good grant was renewed: %v, %v", rows, err)
	}
	for _, good := range []string{
		"1:b1:21:o19:92233720368547758071:9", "1:b1:21:o1:59:315360000", "2:b 2:2 2:o 1:51:9", "1:b1:21:o2:052:09",
		"64:" + strings.Repeat("😀", 64) + "255:" + strings.Repeat("😀", 255) + "64:" + strings.Repeat("😀", 64) + "1:51:9",
	} {
		if rows, err := query(t.Context(), place.SQL, "CALL applock.renew_appl_locks(?)", good); err != nil || len(rows) != 1 || rows[0]["outcome"] != "FREE" {
			t.Errorf("%.60s: %v, %v, want FREE", good, rows, err)
		}
	}
}

// Goal: one call takes a thousand grants and answers for each, and the first ones still have their whole ttl. Method: another operator
// holds every third, and every third does not exist.
func renewalOfManyGrants(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	var document strings.Builder
	var want []string
	for i := range 1000 {
		id := fmt.Sprintf("%04d", i)
		fmt.Fprintf(&document, "3:doc4:%s1:o1:54:7200", id)
		outcome := []string{"RENEWED  7200", "HELD KIM ", "FREE  0"}[i%3]
		if i%3 < 2 {
			insertGrant(t, place.SQL, "'doc', '"+id+"', '"+[]string{"o", "KIM"}[i%3]+"'", 5, inAnHour)
		}
		want = append(want, id+" "+outcome)
	}
	rows, err := query(t.Context(), place.SQL, "CALL applock.renew_appl_locks(?)", document.String())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		left := fmt.Sprint(row["seconds_left"])
		if row["outcome"] == "HELD" { // that depends on how long the test has taken
			left = ""
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", row["object_id"], row["outcome"], row["old_operator_id"], left))
	}
	if !slices.Equal(got, want) {
		t.Errorf("answered %q, want %q", got, want)
	}
}

// Goal: a renewed lock is later than its grant, also when the clock was set back. Method: a grant from the future.
func renewalAfterTheClockIsSetBack(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertGrant(t, place.SQL, "'a', '1', 'o'", 5, "TIMESTAMP '2099-01-02 00:00:00'")
	_, err := place.SQL.ExecContext(t.Context(), "UPDATE applock.appl_lock SET "+
		"acquired_ts = TIMESTAMP '2099-01-01 00:00:00', lock_ts = TIMESTAMP '2099-01-01 00:00:00'")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := query(t.Context(), place.SQL, "CALL applock.renew_appl_locks('1:a1:11:o1:52:60')")
	if err != nil || len(rows) != 1 || rows[0]["outcome"] != "RENEWED" {
		t.Fatalf("renewed %v, %v", rows, err)
	}
	rows, err = query(t.Context(), place.SQL, "SELECT acquired_ts, lock_ts, department_id, fence FROM applock.appl_lock")
	acquired := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	want := map[string]any{"acquired_ts": acquired, "lock_ts": acquired.Add(time.Microsecond), "department_id": "", "fence": int64(5)}
	if err != nil || !maps.Equal(rows[0], want) {
		t.Errorf("the row is %v, %v, want %v", rows, err, want)
	}
}

// Goal: the ttl that NULL keeps is what was asked for, whatever the times of the row are. Method: rows whose times say something else,
// as after the clock was set back.
func nullKeepsWhatWasAsked(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	for _, locked := range []string{"2026-01-01 00:00:00", "2098-12-31 23:59:59.9", "2099-01-02 00:00:00"} {
		for _, call := range []string{
			"CALL applock.get_appl_lock_row('a', '1', 'o', NULL, NULL, NULL)",
			"CALL applock.transfer_appl_lock_row('a', '1', 'o', 'p', NULL, NULL, NULL, NULL)",
			"CALL applock.take_appl_lock_row('a', '1', 'p', NULL, 'why', NULL, NULL)",
		} {
			if _, err := place.SQL.ExecContext(t.Context(), "DELETE FROM applock.appl_lock"); err != nil {
				t.Fatal(err)
			}
			insertGrant(t, place.SQL, "'a', '1', 'o'", 5, "TIMESTAMP '2099-01-01 00:00:00'")
			if _, err := place.SQL.ExecContext(t.Context(), "UPDATE applock.appl_lock SET lock_ts = TIMESTAMP '"+locked+"'"); err != nil {
				t.Fatal(err)
			}
			rows, err := query(t.Context(), place.SQL, call)
			if err != nil || len(rows) != 1 || rows[0]["p_seconds_left"] != int64(60) {
				t.Errorf("%s after %s: %v, %v, want 60 s", call, locked, rows, err)
			}
			rows, err = query(t.Context(), place.SQL, "SELECT ttl_seconds FROM applock.appl_lock WHERE lock_ts > TIMESTAMP '"+locked+"'")
			if err != nil || len(rows) != 1 || rows[0]["ttl_seconds"] != int64(60) {
				t.Errorf("%s after %s leaves %v, %v, want a later lock_ts, and 60 s", call, locked, rows, err)
			}
		}
	}
}

// Goal: no fence is less than one that was purged, whatever the clock does. Method: purge a grant, and set the mark into the future, as if the
// clock had been set back since; then a get of another object.
func fencesOutliveThePurge(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insertGrant(t, place.SQL, "'a', '1', 'o'", 77, "TIMESTAMP '2026-01-02 00:00:00'")
	insertGrant(t, place.SQL, "'a', '2', 'o'", 75, "TIMESTAMP '2026-01-02 00:00:00'")
	if _, err := query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(60, 10)"); err != nil {
		t.Fatal(err)
	}
	rows, err := query(t.Context(), place.SQL, "SELECT fence FROM applock.appl_lock_fence")
	if err != nil || len(rows) != 1 || rows[0]["fence"] != int64(77) {
		t.Errorf("purged up to %v, %v, want 77", rows, err)
	}
	const ahead = int64(9000000000000000000)
	if _, err := place.SQL.ExecContext(t.Context(), fmt.Sprintf("UPDATE applock.appl_lock_fence SET fence = %d", ahead)); err != nil {
		t.Fatal(err)
	}
	rows, err = query(t.Context(), place.SQL, "CALL applock.get_appl_lock_row('b', '1', 'o', NULL, NULL, NULL)")
	if err != nil || rows[0]["p_fence"] != ahead+1 {
		t.Errorf("got %v, %v, want the fence %d", rows, err, ahead+1)
	}
	if _, err := query(t.Context(), place.SQL, "CALL applock.release_appl_lock_row('b', '1', 'o', NULL, NULL, NULL)"); err != nil {
		t.Fatal(err)
	}
	rows, err = query(t.Context(), place.SQL, "CALL applock.get_appl_lock_row('b', '1', 'o', NULL, NULL, NULL)")
	if err != nil || rows[0]["p_fence"] != ahead+2 {
		t.Errorf("got %v, %v, want the fence %d", rows, err, ahead+2)
	}
	rows, err = query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(1, 10)")
	if err != nil || rows[0]["p_purged"] != int64(0) {
		t.Errorf("purged %v, %v, want nothing: its fence lies in the future", rows, err)
	}
}

// Goal: the seconds that are left are right over any number of midnights, and rounded up. Method: the times of the rows, in
// Go's arithmetic, between two readings of the clock, which is that of the database but for the part of a microsecond.
func secondsLeftOverMidnights(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	for i, end := range []time.Duration{
		time.Minute, 13 * time.Hour, 23*time.Hour + 999999*time.Microsecond, 25 * time.Hour, 40*24*time.Hour - time.Second,
		400*24*time.Hour + time.Microsecond, 100 * 366 * 24 * time.Hour,
	} {
		id := fmt.Sprintf("%d", i)
		expires := time.Now().UTC().Add(end).Truncate(time.Microsecond)
		literal := expires.Format("TIMESTAMP '2006-01-02 15:04:05.000000'")
		insertGrant(t, place.SQL, "'a', '"+id+"', 'o'", 5, literal)
		insertWaiter(t, place, "'a', '"+id+"', 'o', '', 'p'", "NULL", literal)
		insertRequest(t, place.SQL, "'a', '"+id+"', 'BROWN', '', 'p'", literal)
		for column, calls := range map[string][]string{
			"p_seconds_left": {
				"CALL applock.get_appl_lock_row('a', '" + id + "', 'q', NULL, NULL, NULL)",
				"CALL applock.transfer_appl_lock_row('a', '" + id + "', 'q', 'r', NULL, NULL, NULL, NULL)",
				"CALL applock.take_appl_lock_row('a', '" + id + "', 'r', NULL, 'why', 1, NULL)",
				"CALL applock.inquire_appl_lock_row('a', '" + id + "')",
				"CALL applock.ask_appl_lock_row('a', '" + id + "', 'BROWN', NULL, 'p', NULL, NULL)",
				"CALL applock.ask_appl_lock_row('a', '" + id + "', 'o', NULL, 'p', NULL, NULL)",
				"CALL applock.answer_appl_lock_row('a', '" + id + "', 'r', 1, 'BROWN', NULL, 'NO', NULL)",
				"CALL applock.answer_appl_lock_row('a', '" + id + "', 'o', 5, 'BROWN', NULL, 'NO', NULL)",
			},
			"seconds_left": {
				"CALL applock.renew_appl_locks('1:a1:" + id + "1:q1:51:9')",
				"SELECT * FROM applock.appl_lock_live WHERE object_id = '" + id + "'",
				"SELECT * FROM applock.appl_lock_waiting WHERE object_id = '" + id + "'",
				"SELECT * FROM applock.appl_lock_asking WHERE object_id = '" + id + "'",
			},
		} {
			for _, call := range calls {
				before := time.Now()
				rows, err := query(t.Context(), place.SQL, call)
				after := time.Now()
				if err != nil || len(rows) != 1 {
					t.Fatalf("%s: %v, %v, want one row", call, rows, err)
				}
				left, _ := rows[0][column].(int64)
				if longest, shortest := secondsUp(expires.Sub(before)+time.Microsecond), secondsUp(expires.Sub(after)); left > longest || left < shortest {
					t.Errorf("%s: %v s left, want %d to %d", call, rows[0][column], shortest, longest)
				}
			}
		}
	}
}

// secondsUp rounds up.
func secondsUp(duration time.Duration) int64 {
	return int64((duration + time.Second - time.Nanosecond) / time.Second)
}

// Goal: poll tells how long a lock lasts to the microsecond, over any number of midnights. Method: the times of the row,
// in Go's arithmetic.
func pollTellsMicroseconds(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	ends := []time.Duration{
		time.Minute, 13 * time.Hour, 23*time.Hour + 999999*time.Microsecond, 25 * time.Hour, 40*24*time.Hour - time.Second,
		400*24*time.Hour + time.Microsecond,
	}
	for i, end := range ends {
		id := fmt.Sprintf("%d", i)
		expires := time.Now().UTC().Add(end).Format("TIMESTAMP '2006-01-02 15:04:05.000000'")
		insertGrant(t, place.SQL, "'a', '"+id+"', 'o'", 5, expires)
		if _, err := query(t.Context(), place.SQL, "CALL applock.announce_appl_lock_waiter_row('a', '"+id+"', 'o', '', 'p', NULL)"); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now()
	rows, err := query(t.Context(), place.SQL, "CALL applock.poll_appl_locks('p', NULL)")
	after := time.Now()
	if err != nil || len(rows) != len(ends) {
		t.Fatalf("polled %v, %v", rows, err)
	}
	stored, err := query(t.Context(), place.SQL, "SELECT object_id, expires_ts FROM applock.appl_lock ORDER BY object_id")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		expires := stored[i]["expires_ts"].(time.Time)
		free := time.Duration(row["free_in_us"].(int64)) * time.Microsecond
		if row["object_id"] != stored[i]["object_id"] || free > expires.Sub(before)+time.Microsecond || free < expires.Sub(after)-time.Microsecond {
			t.Errorf("%s will be free in %s, want %s", row["object_id"], free, expires.Sub(after))
		}
	}
}

// Goal: a poll writes only when a waiter must be kept listed, and then for all of them. Method: the times of the rows
// before and after polls.
func pollWritesOnceInAWhile(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	insert := func(id, client, until, expires string) {
		t.Helper()
		insertWaiter(t, place, "'a', '"+id+"', 'o', '', '"+client+"'", until, expires)
	}
	in := func(seconds int) string { return fmt.Sprintf("LOCALTIMESTAMP + INTERVAL '%d' SECOND", seconds) }
	poll := func() (changed []any) {
		t.Helper()
		const rows = "SELECT object_id, expires_ts FROM applock.appl_lock_waiter ORDER BY object_id"
		before, err := query(t.Context(), place.SQL, rows)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := query(t.Context(), place.SQL, "CALL applock.poll_appl_locks('p', NULL)"); err != nil {
			t.Fatal(err)
		}
		after, err := query(t.Context(), place.SQL, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			if before[i]["expires_ts"] != after[i]["expires_ts"] {
				changed = append(changed, after[i]["object_id"])
			}
		}
		return changed
	}
	insert("1", "p", "NULL", in(40))
	insert("2", "p", in(50), in(45))
	insert("3", "p", in(20), in(20)) // as long as it waits already
	insert("4", "p", anHourAgo, anHourAgo)
	insert("5", "other", "NULL", in(10))
	if changed := poll(); len(changed) != 0 {
		t.Errorf("a poll changed %v, although nobody's time runs out", changed)
	}
	insert("6", "p", "NULL", in(25))
	if changed := poll(); !slices.Equal(changed, []any{"1", "2", "6"}) {
		t.Errorf("a poll changed %v, want the client's that have not given up", changed)
	}
	if changed := poll(); len(changed) != 0 {
		t.Errorf("the next poll changed %v", changed)
	}
	insert("7", "p", in(25), in(22))
	if changed := poll(); !slices.Contains(changed, any("7")) {
		t.Errorf("a poll changed %v, want the one that waits for some more seconds, too", changed)
	}
	if changed := poll(); len(changed) != 0 {
		t.Errorf("the last poll changed %v", changed)
	}
}
