package mysql_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/testing/contract"
)

// session returns one session of a place with a grant of JDOE's on customer:1.
func session(t *testing.T, place contract.Place) *sql.Conn {
	t.Helper()
	conn, err := place.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	mustQuery(t, conn, "CALL get_appl_lock_row('customer', '1', 'JDOE', 'CS', 3600, NULL)")
	return conn
}

// Goal: no verb trusts the session's clock, in a session and in a function. Method: a clock of 2033 and one of 2001 before each verb
// that judges or writes a time.
func TestSessionCannotChooseTheTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		conn := session(t, newPlace(t, product))
		mustQuery(t, conn, `CREATE FUNCTION f_get(p_operator_id VARCHAR(64)) RETURNS VARCHAR(64) MODIFIES SQL DATA
			BEGIN
				CALL get_appl_lock('customer', '1', p_operator_id, NULL, 3600, NULL, @a, @b, @c, @d, @e, @f, @g, @h, @i);
				RETURN @b;
			END`)
		mustQuery(t, conn, `CREATE FUNCTION f_ask(p_operator_id VARCHAR(64)) RETURNS VARCHAR(64) MODIFIES SQL DATA
			BEGIN
				CALL ask_appl_lock('customer', '1', p_operator_id, NULL, 'f', NULL, NULL, @a, @b, @c, @d, @e, @f, @g, @h);
				RETURN @b;
			END`)
		mustQuery(t, conn, `CREATE FUNCTION f_answer(p_asker_id VARCHAR(64)) RETURNS VARCHAR(64) MODIFIES SQL DATA
			BEGIN
				CALL answer_appl_lock('customer', '1', 'JDOE', (SELECT l.fence FROM appl_lock AS l WHERE l.object_id = '1'), p_asker_id, NULL,
					'LATER', NULL, @a, @b, @c, @d, @e, @f, @g);
				RETURN @b;
			END`)
		for _, clock := range []string{"2000000000", "1000000000"} {
			for _, test := range []struct{ call, column, want string }{
				{"CALL get_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)", "p_outcome", "HELD"},
				{"SELECT f_get('ASMITH') AS p_outcome", "p_outcome", "HELD"},
				{"CALL purge_appl_locks_row(1, 1000)", "p_purged", "0"},
				{"CALL release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)", "p_outcome", "HELD"},
				{"CALL inquire_appl_lock_row('customer', '1')", "p_operator_id", "JDOE"},
				{"CALL announce_appl_lock_waiter_row('customer', '1', 'ASMITH', NULL, 'p', NULL)", "p_ok_fl", "Y"},
				{"CALL poll_appl_locks('p', NULL)", "free_in_us BETWEEN 0 AND 3600000000", ""},
				{"CALL ask_appl_lock_row('customer', '1', 'ASMITH', NULL, 'p', NULL, NULL)", "p_outcome", "ASKED"},
				{"SELECT f_ask('BROWN') AS p_outcome", "p_outcome", "ASKED"},
				{"CALL inbox_appl_locks('JDOE', '999999999999999999', 1)", "kind", "AWAITED"},
				{"SELECT f_answer('BROWN') AS p_outcome", "p_outcome", "TOLD"},
				{"CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, 3600, NULL)", "p_outcome", "RENEWED"},
				{"SELECT f_get('JDOE') AS p_outcome", "p_outcome", "RENEWED"},
				{"CALL transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', 'CS', NULL, 'BOSS', 'x')", "p_outcome", "TRANSFERRED"},
				{"CALL transfer_appl_lock_row('customer', '1', 'ASMITH', 'JDOE', 'CS', NULL, 'BOSS', 'x')", "p_outcome", "TRANSFERRED"},
			} {
				mustQuery(t, conn, "SET timestamp = "+clock)
				rows := mustQuery(t, conn, test.call)
				if test.want != "" && (len(rows) != 1 || fmt.Sprint(rows[0][test.column]) != test.want) {
					t.Errorf("at %s: %s: %v, want %s", clock, test.call, rows, test.want)
				}
			}
			mustQuery(t, conn, "SET timestamp = DEFAULT")
			for _, moved := range []string{
				"SELECT COUNT(*) FROM appl_lock WHERE ABS(TIMESTAMPDIFF(SECOND, lock_ts, UTC_TIMESTAMP())) > 60",
				"SELECT COUNT(*) FROM appl_lock_event WHERE ABS(TIMESTAMPDIFF(SECOND, event_ts, UTC_TIMESTAMP())) > 60",
				"SELECT COUNT(*) FROM appl_lock_waiter WHERE ABS(TIMESTAMPDIFF(SECOND, expires_ts, UTC_TIMESTAMP())) > 120",
				"SELECT COUNT(*) FROM appl_lock_ask WHERE ABS(TIMESTAMPDIFF(SECOND, expires_ts, UTC_TIMESTAMP())) > 120",
				"SELECT COUNT(*) FROM appl_lock_ask WHERE ABS(TIMESTAMPDIFF(SECOND, answered_ts, UTC_TIMESTAMP())) > 60",
			} {
				if count := value(t, conn, moved); count != "0" {
					t.Errorf("at %s: %s: %s", clock, moved, count)
				}
			}
		}
	})
}

// Goal: the number of an event is not the caller's, and nobody exhausts the numbers. Method: each forced number before a take, by
// itself and in a function, and the numbers that come of it.
func TestSessionCannotChooseTheNumber(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		conn := session(t, lentPlace(t, product))
		const take = "CALL take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)"
		for _, number := range []string{"9223372036854775807", "18446744073709551615", "100000", "0", "1"} {
			mustQuery(t, conn, "SET insert_id = "+number)
			mustQuery(t, conn, take)
		}
		if got := value(t, conn, "SELECT CONCAT(COUNT(*), ' ', MIN(event_id) > 0, ' ', MAX(event_id) < 1e16) FROM appl_lock_event"); got != "5 1 1" {
			t.Errorf("events, all above 0, all below 10^16: %s, want 5 1 1", got)
		}
		mustQuery(t, conn, "SET insert_id = 0")
		mustQuery(t, conn, "CALL set_appl_lock_policy_row('customer', NULL, NULL, NULL, 'A', NULL, 'ALL', NULL, NULL)")
		mustQuery(t, conn, "CALL get_appl_lock_row('customer', '1', 'BOSS', NULL, NULL, NULL)")
		mustQuery(t, conn, "SET insert_id = 0")
		fence := value(t, conn, "SELECT fence FROM appl_lock")
		mustQuery(t, conn, `CALL renew_appl_locks('[{"object_type": "customer", "object_id": "1", "operator_id": "BOSS", "fence": `+fence+
			`, "ttl_seconds": 60}]')`)
		if got := value(t, conn, "SELECT CONCAT(COUNT(*), ' ', MIN(event_id) > 0) FROM appl_lock_event"); got != "8 1" {
			t.Errorf("events, all above 0: %s, want 8 1", got)
		}
	})
}

// Goal: a session in which a killed call has left its own transaction open grants nothing that only it sees, and works again after a
// ROLLBACK, also in a transaction of the caller's. Method: what KILL QUERY leaves before and after the call has set its savepoint: the transaction
// and the marker; on MySQL also by KILL QUERY.
func TestLeftTransactionIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, left := range map[string][]string{
			"before the savepoint": {"SET @appl_lock_own = FALSE", "START TRANSACTION"},
			"after the savepoint":  {"START TRANSACTION", "SAVEPOINT appl_lock_own", "SET @appl_lock_own = TRUE"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				conn := session(t, lentPlace(t, product))
				for _, statement := range left {
					mustQuery(t, conn, statement)
				}
				requireRefusedUntilRollback(t, conn)
			})
		}
		if product != "mysql" {
			return // MariaDB's GET_LOCK goes on after a KILL QUERY
		}
		for _, text := range []string{"SAVEPOINT appl_lock_own;", "SET p_began = TRUE;"} { // a take that is killed there leaves the same
			place := newPlace(t, product)
			conn := session(t, place)
			id := value(t, conn, "SELECT CONNECTION_ID()")
			mustQuery(t, session(t, place), "DO GET_LOCK(DATABASE(), 60)")
			interrupt(t, place.SQL, "appl_lock_begin", text, "DO GET_LOCK(DATABASE(), 60);")
			killed := make(chan error, 1)
			go func() {
				_, err := contract.RowsByColumn(t.Context(), conn, "CALL take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)")
				killed <- err
			}()
			untilInState(t, place.SQL, "User lock")
			mustQuery(t, place.SQL, "KILL QUERY "+id)
			if err := <-killed; err == nil {
				t.Errorf("before %s: the take is answered", text)
			}
			if _, err := contract.RowsByColumn(t.Context(), conn, getCall, "2", "JDOE"); numberOf(err) != 1179 {
				t.Errorf("before %s: the next get: %v, want error 1179", text, err)
			}
		}
	})
}

func requireRefusedUntilRollback(t *testing.T, conn *sql.Conn) {
	t.Helper()
	for range 2 {
		for _, call := range []string{
			"CALL get_appl_lock_row('customer', '2', 'JDOE', NULL, NULL, NULL)",
			"CALL release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
			"CALL take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)",
			"CALL ask_appl_lock_row('customer', '1', 'BOSS', NULL, 'p', NULL, NULL)",
			"CALL answer_appl_lock_row('customer', '1', 'JDOE', 1, 'BOSS', NULL, 'NO', NULL)",
			"CALL inquire_appl_lock_row('customer', '1')",
			"CALL inbox_appl_locks('JDOE', NULL, NULL)",
			"CALL get_appl_lock_permit('customer', '3', 1, 'JDOE', NULL, NULL)",
			"CALL renew_appl_locks('[]')",
			"CALL poll_appl_locks('p', NULL)",
			"CALL see_appl_lock('customer', '1', 'JDOE', NULL, 'p', 'VIEWING', NULL)",
			"CALL release_appl_locks('JDOE', NULL, NULL, NULL, NULL, NULL, NULL, 'Y')",
		} {
			if _, err := contract.RowsByColumn(t.Context(), conn, call); numberOf(err) != 1179 {
				t.Errorf("%s: %v, want error 1179", call, err)
			}
		}
	}
	mustQuery(t, conn, "ROLLBACK")
	mustQuery(t, conn, "START TRANSACTION")
	mustQuery(t, conn, "CALL get_appl_lock_row('customer', '2', 'JDOE', NULL, NULL, NULL)")
	mustQuery(t, conn, "COMMIT")
	mustQuery(t, conn, "CALL take_appl_lock_row('customer', '1', 'BOSS', NULL, 'why', NULL, NULL)")
	if held := value(t, conn, "SELECT COUNT(*) FROM appl_lock_live"); held != "2" {
		t.Errorf("%s locks, want 2", held)
	}
}

// Goal: two renewals of one object in a trigger, where time stands still, both work: each counts from its own time, and makes the row's version
// greater, also where that lies ahead of the clock. Method: a trigger that gets the object twice, with a pause between, and keeps what it was
// answered; a version of before the clock was set back.
func TestTwoRenewalsInATrigger(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		conn := session(t, newPlace(t, product))
		mustQuery(t, conn, "CREATE TABLE edit (id INT PRIMARY KEY)")
		mustQuery(t, conn, `CREATE TRIGGER edit_bi BEFORE INSERT ON edit FOR EACH ROW
			BEGIN
				SET @before_ts = (SELECT lock_ts FROM appl_lock_live WHERE object_id = '1');
				CALL get_appl_lock('customer', '1', 'JDOE', NULL, 60, NULL, @a, @first, @c, @d, @first_fence, @first_start, @first_end, @g, @h);
				SET @first_ts = (SELECT lock_ts FROM appl_lock_live WHERE object_id = '1');
				DO SLEEP(0.01);
				CALL get_appl_lock('customer', '1', 'JDOE', NULL, 90, NULL, @a, @second, @c, @d, @second_fence, @second_start, @second_end, @g, @h);
				SET @second_ts = (SELECT lock_ts FROM appl_lock_live WHERE object_id = '1');
			END`)
		for id, change := range []string{"DO 0", "UPDATE appl_lock SET lock_ts = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR", "DO 0"} {
			mustQuery(t, conn, change)
			// No prepared statement: the server gives one up when other tests install procedures all the time.
			mustQuery(t, conn, fmt.Sprintf("INSERT INTO edit VALUES (%d)", id))
			got := value(t, conn, `SELECT CONCAT(@first, ' ', @second, ' ', @first_fence = @second_fence, ' ', @before_ts < @first_ts, ' ', @first_ts < @second_ts,
				' ', @second_end >= @first_end + INTERVAL 30010000 MICROSECOND)`)
			if got != "RENEWED RENEWED 1 1 1 1" {
				t.Errorf("after %s: outcomes, the same fence, later versions, a later end: %s, want RENEWED RENEWED 1 1 1 1", change, got)
			}
		}
		if ttl := value(t, conn, "SELECT ttl_seconds FROM appl_lock_live WHERE object_id = '1'"); ttl != "90" {
			t.Errorf("the ttl is %s, want 90", ttl)
		}
	})
}
