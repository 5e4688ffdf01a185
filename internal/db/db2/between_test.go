package db2_test

import (
	"fmt"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/hsqldb"
	"github.com/applock/applock/internal/testdb"
)

const (
	inAnHour  = "LOCALTIMESTAMP + INTERVAL '1' HOUR"
	anHourAgo = "LOCALTIMESTAMP - INTERVAL '1' HOUR"
	twoHours  = "LOCALTIMESTAMP + INTERVAL '2' HOUR"
)

// Goal: what a procedure has read may have changed when it decides: then it reads again, three times at most.
// Method: another caller's change is made by a procedure that is called between the first statement and the second;
// HSQLDB itself would run the whole call again.
func TestChangeBetweenReadAndDecision(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	insert := func(operator, expires string) string {
		return "INSERT INTO applock.appl_lock VALUES ('a', '1', '" + operator + "', '', 5, " +
			"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', " + expires + ")"
	}
	change := func(assignments string) string { return "UPDATE applock.appl_lock SET " + assignments }
	const (
		get      = "CALL applock.get_appl_lock_row('a', '1', 'JDOE', '', 60)"
		release  = "CALL applock.release_appl_lock_row('a', '1', 'JDOE', NULL)"
		transfer = "CALL applock.transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', '', 60)"
		purge    = "CALL applock.purge_appl_locks_row(60, 10)"
	)
	for i, test := range []struct{ before, meanwhile, call, want string }{
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
		{insert("OLD", anHourAgo), change("fence = 6"), purge, "0"},
		{insert("OLD", anHourAgo), change("expires_ts = " + inAnHour), purge, "0"},
	} {
		if got := callBetween(t, bridge, fmt.Sprintf("between%d", i), 1, test.before, test.meanwhile, test.call); got != test.want {
			t.Errorf("%s, meanwhile %s: %s, want %s", test.call, test.meanwhile, got, test.want)
		}
	}
	for i, call := range []string{get, release, transfer} {
		restless := change("fence = fence + 1")
		if got := callBetween(t, bridge, fmt.Sprintf("restless%d", i), 3, insert("JDOE", inAnHour), restless, call); got != "LK003" {
			t.Errorf("%s with three changes: %s, want LK003", call, got)
		}
		if got := callBetween(t, bridge, fmt.Sprintf("restful%d", i), 2, insert("JDOE", inAnHour), restless, call); got[0] != 'Y' {
			t.Errorf("%s with two changes: %s, want yes in the third round", call, got)
		}
	}
}

// callBetween installs into a new database, in which the change is made so many times, and returns the answer.
func callBetween(t *testing.T, bridge *hsqldb.Bridge, database string, times int, before, meanwhile, call string) string {
	t.Helper()
	ctx := t.Context()
	handle, err := bridge.Open(ctx, database, hsqldb.MVCC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	plain := applock.NewDB2(handle)
	if _, err := plain.MigrateUp(ctx); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE TABLE applock.changes (times INTEGER NOT NULL)",
		fmt.Sprintf("INSERT INTO applock.changes VALUES (%d)", times),
		"CREATE PROCEDURE applock.between_s1_and_s2 () MODIFIES SQL DATA BEGIN ATOMIC " +
			"DECLARE changed INTEGER DEFAULT 0; " +
			"UPDATE applock.changes SET times = times - 1 WHERE times > 0; " +
			"GET DIAGNOSTICS changed = ROW_COUNT; " +
			"IF changed = 1 THEN " + meanwhile + "; END IF; END",
	} {
		if _, err := handle.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := plain.MigrateDown(ctx); err != nil { // the procedures: they are installed anew
		t.Fatal(err)
	}
	instrumented := bridge.Between(database, "applock.between_s1_and_s2")
	defer func() { _ = instrumented.Close() }()
	if _, err := applock.NewDB2(instrumented).MigrateUp(ctx); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if _, err := handle.ExecContext(ctx, before); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := query(ctx, handle, call)
	if err != nil {
		diagnosis, _ := db2.AnswerOf(err)
		return diagnosis.State
	}
	if purged, isPurge := rows[0]["p_purged"]; isPurge {
		return fmt.Sprint(purged)
	}
	flag := rows[0]["p_lock_fl"]
	if flag == nil {
		flag = rows[0]["p_return_cd"]
	}
	return fmt.Sprintf("%s %s %s", flag, rows[0]["p_outcome"], rows[0]["p_old_operator_id"])
}
