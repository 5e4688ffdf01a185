package db2_test

import (
	"context"
	"database/sql"
	"fmt"
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
		New:      databases.lender(t),
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

// Goal: a call changes its own row, and no other. Method: twins that differ in one column of the key; how many each call leaves as they were.
func oneOfTheTwins(t *testing.T, bridge *hsqldb.Bridge) {
	const (
		locks    = "FROM applock.appl_lock WHERE released_ts IS NULL AND expires_ts = TIMESTAMP '2099-01-01 00:00:00' AND lock_ts = acquired_ts AND note = ''"
		waiters  = "FROM applock.appl_lock_waiter WHERE department_id = ''"
		requests = "FROM applock.appl_lock_ask WHERE department_id = '' AND answer = ''"
	)
	for _, test := range []struct {
		call, unchanged string
		want            int64
	}{
		{"get_appl_lock_row('a', '1', 'JDOE', '', 7200, NULL)", locks, 2},
		{"release_appl_lock_row('a', '1', 'JDOE', NULL, NULL, NULL)", locks, 2},
		{"transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)", locks, 2},
		{"take_appl_lock_row('a', '1', 'BOSS', '', 'why', NULL, NULL)", locks, 2},
		{"renew_appl_locks('1:a1:14:JDOE1:53:600')", locks, 2},
		{"note_appl_lock_row('a', '1', 'JDOE', NULL, 'why')", locks, 2},
		{"announce_appl_lock_waiter_row('a', '1', 'BROWN', 'NEW', 'p', NULL)", waiters, 4},
		{"retract_appl_lock_waiter_row('a', '1', 'BROWN', 'p')", waiters, 4},
		{"ask_appl_lock_row('a', '1', 'BROWN', 'NEW', 'p', 'why', NULL)", requests, 4},
		{"ask_appl_lock_row('a', '1', 'BROWN', '', 'p', 'why', 0)", requests, 4},
		{"answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', 'p', 'NO', 'not yet')", requests, 4},
		{"answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', NULL, 'LATER', NULL)", requests, 3},
		{"answer_appl_lock_row('a', '1', 'JDOE', 5, 'BROWN', 'p', 'GIVE', NULL)", requests, 3},
		{"answer_appl_lock_row('a', '1', 'JDOE', 4, 'BROWN', 'p', 'GIVE', NULL)", requests, 5},
		{"answer_appl_lock_row('a', '1', 'JDOE', 5, 'brown', NULL, 'GIVE', NULL)", requests, 5},
		{"answer_appl_lock_row('a', '1', 'BROWN', 5, 'BROWN', NULL, 'GIVE', NULL)", requests, 5},
		{"ask_appl_lock_row('a', '1', 'JDOE', '', 'p', 'why', NULL)", requests, 5},
		{"purge_appl_locks_row(60, 1)", "FROM applock.appl_lock_viewer", 4},
	} {
		place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
		for _, object := range []string{"'a', '1'", "'a', '2'", "'b', '1'"} {
			insertGrant(t, place.SQL, object+", 'JDOE'", 5, "TIMESTAMP '2099-01-01 00:00:00'")
		}
		for _, key := range []string{"'a', '1', 'BROWN', '', 'p'", "'b', '1', 'BROWN', '', 'p'", "'a', '2', 'BROWN', '', 'p'", "'a', '1', 'KIM', '', 'p'", "'a', '1', 'BROWN', '', 'q'"} {
			insertWaiter(t, place, key, "NULL", "TIMESTAMP '2099-01-01 00:00:00'")
			insertRequest(t, place.SQL, key, "TIMESTAMP '2099-01-01 00:00:00'")
			execute(t, place.SQL, "INSERT INTO applock.appl_lock_viewer VALUES ("+key+", 'IDLE', TIMESTAMP '2026-01-01 00:00:00', "+
				"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-02 00:00:00')")
		}
		mustQuery(t, place.SQL, "CALL applock."+test.call)
		if rows := mustQuery(t, place.SQL, "SELECT COUNT(*) AS unchanged "+test.unchanged); rows[0]["unchanged"] != test.want {
			t.Errorf("%s left %v rows as they were, want %d", test.call, rows[0]["unchanged"], test.want)
		}
	}
}

func insertWaiter(t *testing.T, place contract.Place, key, until, expires string) {
	t.Helper()
	execute(t, place.SQL, "INSERT INTO applock.appl_lock_waiter VALUES ("+key+", TIMESTAMP '2026-01-01 00:00:00', "+until+", "+expires+", '')")
}

// insertRequest asks for what JDOE holds by the grant 5.
func insertRequest(t *testing.T, handle *sql.DB, key, expires string) {
	t.Helper()
	execute(t, handle, "INSERT INTO applock.appl_lock_ask VALUES ("+key+", 'why', "+
		"TIMESTAMP '2026-01-01 00:00:00', NULL, "+expires+", 'JDOE', 5, NULL, '', '', NULL, NULL)")
}

// insertGrant puts a row into appl_lock.
func insertGrant(t *testing.T, handle *sql.DB, object string, fence int64, expires string) {
	t.Helper()
	execute(t, handle, fmt.Sprintf("INSERT INTO applock.appl_lock VALUES (%s, '', %d, "+
		"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', 60, %s, '', 'N', NULL)", object, fence, expires))
}

func execute(t *testing.T, handle *sql.DB, statement string) {
	t.Helper()
	if _, err := handle.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func mustQuery(t *testing.T, handle *sql.DB, text string, args ...any) []map[string]any {
	t.Helper()
	rows, err := query(t.Context(), handle, text, args...)
	if err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return rows
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
		return renewed[0].Outcome + " " + renewed[0].OldOperatorID
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
		"1:b1:2256:" + strings.Repeat("o", 256) + "1:51:9": "no valid operator_id in grant 2",
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
	if rows := mustQuery(t, place.SQL, "SELECT object_id FROM applock.appl_lock WHERE lock_ts = TIMESTAMP '2026-01-01 00:00:00'"); len(rows) != 1 {
		t.Errorf("the good grant was renewed: %v", rows)
	}
	for _, good := range []string{
		"1:b1:21:o19:92233720368547758071:9", "1:b1:21:o1:59:315360000", "2:b 2:2 2:o 1:51:9", "1:b1:21:o2:052:09",
		"64:" + strings.Repeat("😀", 64) + "255:" + strings.Repeat("😀", 255) + "255:" + strings.Repeat("o", 255) + "1:51:9",
	} {
		if rows := mustQuery(t, place.SQL, "CALL applock.renew_appl_locks(?)", good); len(rows) != 1 || rows[0]["outcome"] != "FREE" {
			t.Errorf("%.60s: %v, want FREE", good, rows)
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
	var got []string
	for _, row := range mustQuery(t, place.SQL, "CALL applock.renew_appl_locks(?)", document.String()) {
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

// Goal: the seconds that are left are right over any number of midnights, and rounded up, and so are the microseconds of a poll. Method: the
// times of the rows, in Go's arithmetic, between two readings of the clock, which is that of the database but for a part of a microsecond.
func timeLeftOverMidnights(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	for i, end := range []time.Duration{
		time.Minute, 13 * time.Hour, 23*time.Hour + 999999*time.Microsecond, 25 * time.Hour, 40*24*time.Hour - time.Second,
		400*24*time.Hour + time.Microsecond, 100 * 366 * 24 * time.Hour,
	} {
		id := fmt.Sprint(i)
		expires := time.Now().UTC().Add(end).Truncate(time.Microsecond)
		literal := expires.Format("TIMESTAMP '2006-01-02 15:04:05.000000'")
		insertGrant(t, place.SQL, "'a', '"+id+"', 'o'", 5, literal)
		insertWaiter(t, place, "'a', '"+id+"', 'o', '', 'p"+id+"'", "NULL", literal)
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
			"free_in_us": {"CALL applock.poll_appl_locks('p" + id + "', NULL)"},
		} {
			unit := time.Second
			if column == "free_in_us" {
				unit = time.Microsecond
			}
			for _, call := range calls {
				before := time.Now()
				rows := mustQuery(t, place.SQL, call)
				after := time.Now()
				if len(rows) != 1 {
					t.Fatalf("%s: %v, want one row", call, rows)
				}
				left, _ := rows[0][column].(int64)
				if longest, shortest := up(expires.Sub(before)+time.Microsecond, unit), up(expires.Sub(after)-time.Microsecond, unit); left > longest || left < shortest {
					t.Errorf("%s: %v left, want %d to %d", call, left, shortest, longest)
				}
			}
		}
	}
}

// up counts units, rounded up.
func up(duration, unit time.Duration) int64 { return int64((duration + unit - time.Nanosecond) / unit) }

// Goal: a poll writes only when a waiter must be kept listed, and then for all of them. Method: which ends of waiters change by polls.
func pollWritesOnceInAWhile(t *testing.T, bridge *hsqldb.Bridge) {
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	in := func(seconds int) string { return fmt.Sprintf("LOCALTIMESTAMP + INTERVAL '%d' SECOND", seconds) }
	poll := func() string {
		const rows = "SELECT object_id, expires_ts FROM applock.appl_lock_waiter ORDER BY object_id"
		before := mustQuery(t, place.SQL, rows)
		mustQuery(t, place.SQL, "CALL applock.poll_appl_locks('p', NULL)")
		changed := ""
		for i, after := range mustQuery(t, place.SQL, rows) {
			if before[i]["expires_ts"] != after["expires_ts"] {
				changed += fmt.Sprint(after["object_id"])
			}
		}
		return changed
	}
	for _, test := range []struct{ id, until, expires, want string }{
		{"1", "NULL", in(40), ""},
		{"2", in(50), in(45), ""},
		{"3", in(20), in(20), ""}, // as long as it waits already
		{"4", anHourAgo, anHourAgo, ""},
		{"6", "NULL", in(25), "126"},
	} {
		insertWaiter(t, place, "'a', '"+test.id+"', 'o', '', 'p'", test.until, test.expires)
		if first, second := poll(), poll(); first != test.want || second != "" {
			t.Errorf("with %s polls changed %q and %q, want %q and nothing", test.id, first, second, test.want)
		}
	}
}
