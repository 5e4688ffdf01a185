package mysql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
)

const (
	announceCall = "CALL announce_appl_lock_waiter_row('customer', ?, ?, '', ?, NULL)"
	retractCall  = "CALL retract_appl_lock_waiter_row('customer', ?, ?, ?)"
	pollCall     = "CALL poll_appl_locks(?, NULL)"
)

// fillWaiters lists that many live waiters, each for its own object, in turn for that many programs, and lets the server count them.
func fillWaiters(t *testing.T, handle *sql.DB, count, programs int) {
	t.Helper()
	mustQuery(t, handle, `INSERT INTO appl_lock_waiter
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'JDOE', '', CONCAT('program', s.slot MOD ?),
			UTC_TIMESTAMP(6), NULL, UTC_TIMESTAMP(6) + INTERVAL 60 SECOND, ''
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, programs, count)
	mustQuery(t, handle, "ANALYZE TABLE appl_lock_waiter")
}

// makeDue brings all waiters of a program near their end, so that a poll has to keep them.
func makeDue(t *testing.T, client contract.Querier, program string) {
	t.Helper()
	mustQuery(t, client, "UPDATE appl_lock_waiter SET expires_ts = UTC_TIMESTAMP(6) + INTERVAL 20 SECOND WHERE client_id = ?", program)
}

// Goal: a poll normally writes nothing and locks nothing; when waiters are due it writes once and is quiet again, also
// where a waiter's end cannot be put off because it gives up then. Method: count what a transaction modifies.
func TestPollWritesOnlyWhenDue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mustQuery(t, place.SQL, announceCall, "1", "JDOE", "program")
		mustQuery(t, place.SQL, "CALL announce_appl_lock_waiter_row('customer', '2', 'JDOE', '', 'program', 20)")
		requirePoll := func(want string) {
			t.Helper()
			inTx(t, place.SQL, func(tx *sql.Tx) {
				mustQuery(t, tx, "SELECT COUNT(*) FROM appl_lock") // or else there is no transaction yet
				if awaited := mustQuery(t, tx, pollCall, "program"); len(awaited) != 2 {
					t.Errorf("%d objects, want 2", len(awaited))
				}
				if modified := rowsModified(t, tx); modified != want {
					t.Errorf("%s rows modified, want %s", modified, want)
				}
				mustQuery(t, place.SQL, announceCall, "3", "JDOE", "other")
				if want == "0" { // the program's own are free as well
					mustQuery(t, place.SQL, announceCall, "1", "JDOE", "program")
					mustQuery(t, place.SQL, announceCall, "3", "JDOE", "program")
					mustQuery(t, place.SQL, retractCall, "3", "JDOE", "program")
				}
			})
		}
		requirePoll("0")
		mustQuery(t, place.SQL, "UPDATE appl_lock_waiter SET expires_ts = expires_ts - INTERVAL 31 SECOND WHERE object_id = '1'")
		requirePoll("1")
		mustQuery(t, place.SQL, pollCall, "program")
		requirePoll("0")
	})
}

// Goal: a poll locks its own program's waiters only, however many others there are and whatever an optimizer makes of
// their number, and with many others reads no more than it needs. Method: a poll that keeps its waiters, in a
// transaction; it counts what it reads, and meanwhile other programs' waiters are changed.
func TestHeavyPollTouchesItsOwnWaiters(t *testing.T) {
	t.Parallel()
	const all = 12000
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, programs := range []int{2, 6, 60} {
			place := newPlace(t, product)
			fillWaiters(t, place.SQL, all, programs)
			fill(t, place.SQL, 60000)
			makeDue(t, place.SQL, "program1")
			own := all / programs
			inTx(t, place.SQL, func(tx *sql.Tx) {
				read := func() int {
					return status(t, tx, "Handler_read_next") + status(t, tx, "Handler_read_rnd_next") + status(t, tx, "Handler_read_key")
				}
				reads, began := read(), time.Now()
				awaited := mustQuery(t, tx, "CALL poll_appl_locks('program1', 10)")
				t.Logf("%d waiters of %d are kept: %s", own, all, time.Since(began))
				if len(awaited) != 10 || fmt.Sprint(awaited[0]["free_in_us"]) == "0" {
					t.Errorf("%v, want 10 objects that are locked", awaited)
				}
				if reads = read() - reads; programs == 60 && reads > all/2 {
					t.Errorf("read %d rows for %d waiters", reads, own)
				}
				mustQuery(t, place.SQL, announceCall, "00000", "JDOE", "program0")
				mustQuery(t, place.SQL, announceCall, "00000", "OTHER", "program0")
			})
			for _, rows := range []int{10, own} {
				began := time.Now()
				mustQuery(t, place.SQL, "CALL poll_appl_locks('program1', ?)", min(rows, 10000))
				t.Logf("%d waiters of %d, %d rows: %s", own, all, rows, time.Since(began))
			}
		}
	})
}

// Goal: a poll waits for nobody, and keeps the waiters that nobody is changing. Method: one waiter is being taken
// back, one is being listed again and one is new, in an open transaction.
func TestPollPassesOverLockedWaiters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, others := range []int{0, 5, 500} {
			place := lentPlace(t, product)
			fillWaiters(t, place.SQL, others, 2)
			for _, id := range []string{"kept", "listed", "unlisted"} {
				mustQuery(t, place.SQL, announceCall, id, "JDOE", "program")
			}
			makeDue(t, place.SQL, "program")
			mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock_waiter")
			inTx(t, place.SQL, func(tx *sql.Tx) {
				mustQuery(t, tx, retractCall, "unlisted", "JDOE", "program")
				mustQuery(t, tx, announceCall, "listed", "JDOE", "program")
				mustQuery(t, tx, announceCall, "new", "JDOE", "program")
				if awaited := mustQuery(t, place.SQL, pollCall, "program"); len(awaited) != 3 { // a wait would end with 1205
					t.Errorf("%d others: %d objects, want the 3 that are committed", others, len(awaited))
				}
			})
			kept := column(t, place.SQL, "SELECT object_id FROM appl_lock_waiter WHERE client_id = 'program' AND expires_ts > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND")
			if strings.Join(kept, " ") != "kept" {
				t.Errorf("%d others: kept %q, want the one that nobody was changing", others, kept)
			}
		}
	})
}

// Goal: a session's calls do not spoil the order of its next ones: MariaDB forgets columns of an ORDER BY that were
// constant before. Method: on one connection calls whose answers have one row, or one value in a column, between
// calls for all; after each of them the order is checked.
func TestHeavyOrderIsNotForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var grants []db.RenewableGrant
		for _, row := range [][3]string{
			{"a", "1", "Z"}, {"a", "2", "A"}, {"b", "1", "M"}, {"b", "1", "C"}, {"b", "2", "B"}, {"a", "2", "Y"}, {"a", "1", "B"},
		} {
			for _, program := range []string{"q", "p"} {
				mustQuery(t, place.SQL, "CALL announce_appl_lock_waiter_row(?, ?, ?, '', ?, NULL)", row[0], row[1], row[2], program)
			}
		}
		for _, id := range []string{"2", "1", "3"} {
			grants = append(grants, granted(t, place.SQL, id, "JDOE"))
		}
		mustQuery(t, place.SQL, "CALL get_appl_lock_row('a', '1', 'JDOE', '', 60, NULL)")
		mustQuery(t, place.SQL, "CALL get_appl_lock_row('a', '9', 'JDOE', 'CS', 60, NULL)")
		for _, id := range []string{"2", "1"} {
			mustQuery(t, place.SQL, "CALL get_appl_lock_row('c', ?, 'JDOE', 'CS', 60, NULL)", id)
			mustQuery(t, place.SQL, "CALL take_appl_lock_row('c', ?, 'BOSS', 'HQ', 'why', NULL, NULL)", id)
		}
		mustQuery(t, place.SQL, "CALL transfer_appl_lock_row('c', '2', 'BOSS', 'JDOE', 'CS', 30, 'BOSS', 'why')")
		mustQuery(t, place.SQL, "UPDATE appl_lock SET acquired_ts = acquired_ts - INTERVAL 2 SECOND") // polls note who has an object for so long
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		requireOrder := func() {
			t.Helper()
			want := []string{"a/1/B/p", "a/1/B/q", "a/1/Z/p", "a/1/Z/q", "a/2/A/p", "a/2/A/q", "a/2/Y/p", "a/2/Y/q", "b/1/C/p", "b/1/C/q", "b/1/M/p", "b/1/M/q", "b/2/B/p", "b/2/B/q"}
			var got []string
			for _, row := range mustQuery(t, conn, "SELECT * FROM appl_lock_waiting ORDER BY object_type, object_id, operator_id, client_id") {
				got = append(got, fmt.Sprintf("%s/%s/%s/%s", row["object_type"], row["object_id"], row["operator_id"], row["client_id"]))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("list: %q, want %q", got, want)
			}
			got = nil
			for _, row := range mustQuery(t, conn, "SELECT * FROM appl_lock_stats ORDER BY object_type, department_id") {
				got = append(got, fmt.Sprintf("%s/%s=%v/%v", row["object_type"], row["department_id"], row["live"], row["waiters"]))
			}
			if strings.Join(got, " ") != "a/=1/8 a/CS=1/0 b/=0/6 c/CS=1/0 c/HQ=1/0 customer/CS=3/0" {
				t.Errorf("stats: %q", got)
			}
			got = nil
			for _, row := range mustQuery(t, conn, "CALL poll_appl_locks('p', NULL)") {
				got = append(got, fmt.Sprintf("%s/%s", row["object_type"], row["object_id"]))
			}
			if strings.Join(got, " ") != "a/2 b/1 b/2 a/1" {
				t.Errorf("poll: %q", got)
			}
			got = nil
			for _, row := range mustQuery(t, conn, "CALL inbox_appl_locks('JDOE', NULL, NULL)") {
				if row["object_type"] == "customer" { // which is renewed below
					continue
				}
				got = append(got, fmt.Sprintf("%s/%s/%s/%s", row["kind"], row["object_type"], row["object_id"], row["other_operator_id"]))
			}
			if strings.Join(got, " ") != "TAKEN/c/2/BOSS TAKEN/c/1/BOSS HANDED/c/2/BOSS AWAITED/a/1/Z AWAITED/a/1/B" {
				t.Errorf("inbox: %q", got)
			}
			if got := outcomes(t, conn, grants...); got != "1=RENEWED 2=RENEWED 3=RENEWED" {
				t.Errorf("renew: %q", got)
			}
		}
		requireOrder()
		for _, call := range []string{
			"inbox_appl_locks('x', NULL, NULL)",
			"inbox_appl_locks('x', '1', 1)",
			"inbox_appl_locks('JDOE', '999999999999999999', 10000)",
			"inbox_appl_locks('JDOE', NULL, 1)",
			"inbox_appl_locks('BOSS', NULL, 100)",
			"poll_appl_locks('p', 1)",
			"poll_appl_locks('nobody', NULL)",
			"renew_appl_locks('[]')",
		} {
			mustQuery(t, conn, "CALL "+call)
			requireOrder()
		}
		outcomes(t, conn, grants[0])
		requireOrder()
	})
}

// Goal: the longest names of the widest characters are waiters like any other, and the table's own rules keep
// out what the procedures would. Method: such a waiter; rows that break one rule each.
func TestWaitersTable(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		name := func(length int) string { return strings.Repeat("😀", length) }
		params := db.AnnounceApplLockWaiterParams{ObjectType: name(64), ObjectID: name(255), OperatorID: name(64), DepartmentID: name(64), ClientID: name(64)}
		if err := place.Driver.AnnounceApplLockWaiter(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		awaited, err := place.Driver.PollApplLocks(t.Context(), db.PollApplLocksParams{ClientID: name(64), MaxRows: 10})
		if err != nil || len(awaited) != 1 || awaited[0] != (db.AwaitedObject{ObjectType: name(64), ObjectID: name(255), FirstFL: db.Yes}) {
			t.Errorf("poll: %v, %v", awaited, err)
		}
		for _, key := range []string{"'', '1', 'o', 'c'", "'a:b', '1', 'o', 'c'", "'t', '', 'o', 'c'", "'t', '1', '', 'c'", "'t', '1', 'o', ''"} {
			_, err := place.SQL.ExecContext(t.Context(), `INSERT INTO appl_lock_waiter (object_type, object_id, operator_id, client_id, department_id, since_ts, expires_ts, holder_id)
				VALUES (`+key+`, '', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), '')`)
			if number := numberOf(err); number != 3819 && number != 4025 { // a CHECK, on MySQL and on MariaDB
				t.Errorf("%s: %v, want a violated CHECK", key, err)
			}
		}
	})
}

// Goal: the driver says that MySQL cannot notify of releases. Method: listen.
func TestListen(t *testing.T) {
	t.Parallel()
	if listener, err := clients.Driver(testclient.MySQL(t, new(sql.DB))).Listen(t.Context()); listener != nil || !errors.Is(err, db.ErrNoListen) {
		t.Errorf("%v, %v, want ErrNoListen", listener, err)
	}
}
