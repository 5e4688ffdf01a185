package mysql_test

import (
	"database/sql"
	"strconv"
	"testing"
)

// Goal: a stored function can transfer and release, with events, in the caller's transaction. Method: one that does both, in a
// transaction that is rolled back and in one that commits.
func TestHistoryFromAFunction(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, `CREATE FUNCTION end_of_a_shift() RETURNS VARCHAR(64) MODIFIES SQL DATA
			BEGIN
				CALL transfer_appl_lock('customer', '1', 'JDOE', 'ASMITH', NULL, NULL, 'BOSS', 'ill', @a, @b, @c, @d, @e, @f, @g, @h);
				CALL release_appl_lock('customer', '1', 'ASMITH', NULL, 'BOSS', 'ill', @h, @i, @j, @k);
				RETURN CONCAT(@b, ' ', @i);
			END`)
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		mustQuery(t, conn, getCall, "1", "JDOE")
		for _, test := range []struct{ end, events, holder string }{
			{"ROLLBACK", "0", "JDOE"},
			{"COMMIT", "2", ""},
		} {
			mustQuery(t, conn, "START TRANSACTION")
			if got := value(t, conn, "SELECT end_of_a_shift()"); got != "TRANSFERRED RELEASED" {
				t.Errorf("the function answers %s", got)
			}
			mustQuery(t, conn, test.end)
			events := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_event")
			if holder := value(t, place.SQL, "SELECT COALESCE(MAX(operator_id), '') FROM appl_lock_live"); events != test.events || holder != test.holder {
				t.Errorf("after %s: %s events, held by %q; want %s and %q", test.end, events, holder, test.events, test.holder)
			}
		}
	})
}

// Goal: two writers that draw the same number both have their events. Method: a writer whose number is behind the clock is stopped, by a
// trigger, before it inserts the number that it raises to; that number is inserted meanwhile. A fixed clock makes the number known.
func TestEventNumberIsDrawnAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, `CREATE TRIGGER behind BEFORE DELETE ON appl_lock_event FOR EACH ROW
			BEGIN
				DO GET_LOCK(CONCAT(DATABASE(), '.behind'), 60);
				DO RELEASE_LOCK(CONCAT(DATABASE(), '.behind'));
			END`)
		writer, other := session(t, place), session(t, place)
		if got := value(t, other, "SELECT GET_LOCK(CONCAT(DATABASE(), '.behind'), 0)"); got != "1" {
			t.Fatalf("GET_LOCK: %s", got)
		}
		mustQuery(t, writer, "SET timestamp = 1900000000")
		taken := value(t, writer, `SELECT (1900000000000000 DIV step + MOD(CONNECTION_ID(), 1024)) * step + @@auto_increment_offset
			FROM (SELECT 1024 * @@auto_increment_increment AS step) AS steps`)
		ended := make(chan error, 1)
		go func() {
			_, err := writer.ExecContext(t.Context(), "CALL appl_lock_record('TAKEN', 'customer', '1', 'BOSS', 'JDOE', '', 1, 'BOSS', '', 2, 'why')")
			ended <- err
		}()
		untilInState(t, place.SQL, "User lock")
		mustQuery(t, other, "INSERT INTO appl_lock_event VALUES (?, UTC_TIMESTAMP(6), 'customer', '2', 'TAKEN', 'BOSS', '', '', '', '', '', '', 0, 0, '')", taken)
		mustQuery(t, other, "DO RELEASE_LOCK(CONCAT(DATABASE(), '.behind'))")
		if err := <-ended; err != nil {
			t.Fatalf("the event of a number that another has taken: %v", err)
		}
		if got := value(t, other, "SELECT GROUP_CONCAT(object_id ORDER BY event_id) FROM appl_lock_event"); got != "2,1" {
			t.Errorf("events of the objects %s, want 2,1", got)
		}
	})
}

// Goal: the number of an event never falls, though the counter is lost with the old events, and two transactions whose events raise it do
// not wait for each other. Method: the counter set back in each way, and then events of two open transactions, and another.
func TestEventNumbersNeverFall(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		const take = "CALL take_appl_lock_row('customer', ?, 'BOSS', NULL, 'why', NULL, NULL)"
		const event = "SELECT MAX(event_id) FROM appl_lock_event WHERE object_id = ?"
		conns := []*sql.Conn{session(t, place), session(t, place)}
		mustQuery(t, place.SQL, getCall, "0", "JDOE")
		mustQuery(t, place.SQL, take, "0")
		before := value(t, place.SQL, event, "0")
		for _, damage := range []string{"TRUNCATE TABLE appl_lock_event", "ALTER TABLE appl_lock_event AUTO_INCREMENT = 1"} {
			mustQuery(t, place.SQL, "DELETE FROM appl_lock_event")
			mustQuery(t, place.SQL, "DO SLEEP(1.1)") // a raised number is up to 1024 * 1024 microseconds ahead of the clock
			mustQuery(t, place.SQL, damage)
			after := before
			for at, conn := range conns {
				mustQuery(t, conn, getCall, strconv.Itoa(at), "JDOE")
				mustQuery(t, conn, "SET innodb_lock_wait_timeout = 1")
				mustQuery(t, conn, "START TRANSACTION")
				mustQuery(t, conn, take, strconv.Itoa(at))
				after = max(after, value(t, conn, event, strconv.Itoa(at)))
			}
			for at, conn := range conns {
				if got := value(t, conn, event, strconv.Itoa(at)); got <= before {
					t.Errorf("event %s after %s", got, before)
				}
				mustQuery(t, conn, "COMMIT")
			}
			mustQuery(t, place.SQL, getCall, "2", "JDOE")
			mustQuery(t, place.SQL, take, "2")
			if before = value(t, place.SQL, event, "2"); before <= after {
				t.Errorf("event %s after %s", before, after)
			}
		}
	})
}
