package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
)

// Each test here is about something that goes wrong on InnoDB, and fails without what guards against it.

const (
	getCall     = "CALL get_appl_lock_row('customer', ?, ?, 'CS', 3600, NULL)"
	releaseCall = "CALL release_appl_lock_row('customer', ?, ?, NULL, NULL, NULL)"
)

// inTx runs work in a transaction at REPEATABLE READ, the default, and rolls it back.
func inTx(t *testing.T, handle *sql.DB, work func(tx *sql.Tx)) {
	t.Helper()
	tx, err := handle.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
	work(tx)
}

// mustQuery returns the rows of a statement, a CALL for example.
func mustQuery(t *testing.T, client contract.Querier, statement string, args ...any) []map[string]any {
	t.Helper()
	rows, err := contract.RowsByColumn(t.Context(), client, statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return rows
}

// value returns the one column of the one row of a query as text.
func value(t *testing.T, client contract.Querier, statement string, args ...any) string {
	t.Helper()
	for _, value := range mustQuery(t, client, statement, args...)[0] {
		return fmt.Sprint(value)
	}
	t.Fatalf("%s: no column", statement)
	return ""
}

// status returns a counter of the session.
func status(t *testing.T, client contract.Querier, name string) int {
	t.Helper()
	return counters(t, client, "SESSION", name)[name]
}

// counters returns some of the session's, or of the whole server's: the scope is SESSION or GLOBAL.
func counters(t *testing.T, client contract.Querier, scope string, names ...string) map[string]int {
	t.Helper()
	values := map[string]int{}
	for _, row := range mustQuery(t, client, "SHOW "+scope+" STATUS WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')") {
		count, err := strconv.Atoi(fmt.Sprint(row["Value"]))
		if err != nil {
			t.Fatal(err)
		}
		values[fmt.Sprint(row["Variable_name"])] = count
	}
	if len(values) != len(names) {
		t.Fatalf("the counters are %v, want all of %q", values, names)
	}
	return values
}

func numberOf(err error) uint16 {
	var answer *driver.MySQLError
	if errors.As(err, &answer) {
		return answer.Number
	}
	return 0
}

// endsWithin is how long a call may take that could go on for ever.
const endsWithin = 2 * time.Minute

// withoutWarnings switches off the handlers of a SELECT ... INTO that finds no row: NOT FOUND is in the list of warnings only.
func withoutWarnings(config *driver.Config) {
	config.Params = map[string]string{"max_error_count": "0"}
	config.ReadTimeout = endsWithin
}

// Goal: an installation that has lost the rows of appl_lock_serialize says so; nobody is let in without a
// turn. Method: empty the table.
func TestSerializeNeedsItsRows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "DELETE FROM appl_lock_serialize")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			err := place.Client.WithSQLTx(tx).Serialize(t.Context(), applock.Object{Type: "customer", ID: "1"})
			if !errors.Is(err, applock.ErrSchema) {
				t.Errorf("serialize: %v, want ErrSchema", err)
			}
		})
	})
}

// pollInterval leaves the processor to those who are waited for.
const pollInterval = 2 * time.Millisecond

// patience is for what must happen soon, however busy the machine is: only where it cannot happen any more, a test would
// wait for ever.
const patience = 2 * time.Minute

// untilWaiting returns when that many sessions wait for a row.
func untilWaiting(t *testing.T, place contract.Place, sessions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for waiting := 0; waiting < sessions; time.Sleep(pollInterval) {
		var err error
		if waiting, err = place.Waiting(ctx); err != nil {
			t.Fatalf("%d of %d sessions wait: %v", waiting, sessions, err)
		}
	}
}

// Goal: a call leaves the caller's session as it was: LAST_INSERT_ID(), which the caller may still need, the
// limit of its lock waits and its safe updates. Method: each operation on a connection with these set, with a
// good answer, a refusal, a bad argument and a wait that is cut off.
func TestHeavyCallerKeepsItsSession(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE invoice (id INTEGER AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 4711")
		fence := mustQuery(t, place.SQL, getCall, "held", "JDOE")[0]["p_fence"]
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		letYield(t, place.SQL, 3600)
		mustQuery(t, conn, "SET SESSION innodb_lock_wait_timeout = 42")
		mustQuery(t, conn, "SET SESSION sql_safe_updates = TRUE")
		mustQuery(t, conn, "INSERT INTO invoice VALUES ()")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			busy := granted(t, tx, "busy", "JDOE").Fence
			mustQuery(t, tx, announceCall, "busy", "ASMITH", "p1")
			mustQuery(t, tx, askCall, "held", "BROWN", "busy")
			for _, call := range []string{
				"get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"get_appl_lock_row('customer', 'held', 'ASMITH', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', '', '', 60, NULL)",
				"get_appl_lock_row('customer', 'busy', 'ASMITH', '', 60, NULL)",
				"release_appl_lock_row('customer', 'busy', 'ASMITH', NULL, NULL, NULL)",
				fmt.Sprintf("release_appl_lock_pass('customer', 'busy', 'JDOE', %d, 'ASMITH', NULL, 60)", busy),
				"release_appl_lock_pass('customer', 'held', 'JDOE', 1, 'ASMITH', NULL, 60)",
				"release_appl_lock_pass('customer', 'held', 'JDOE', 1, '', NULL, 60)",
				"transfer_appl_lock_row('customer', 'busy', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', 'busy', 'BOSS', '', 'why', NULL, 60)",
				"note_appl_lock_row('customer', 'busy', 'JDOE', NULL, 'why')",
				"assert_appl_lock_row('customer', 'busy', 'JDOE', 1)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'ASMITH', 'KIM', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'KIM', 'KIM', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'KIM', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', '', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', NULL, 60)",
				"take_appl_lock_row('customer', '1', 'ASMITH', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'ASMITH', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', 1, NULL)",
				"take_appl_lock_row('customer', '2', 'BOSS', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', '', NULL, NULL)",
				"inbox_appl_locks('JDOE', NULL, NULL)",
				"inbox_appl_locks('', NULL, NULL)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', 'EDITING', NULL)",
				"see_appl_lock('customer', '1', 'ASMITH', NULL, 'tab', 'VIEWING', 60)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', 'SOME', NULL)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', NULL, NULL)",
				"note_appl_lock_row('customer', '1', 'JDOE', NULL, 'why')",
				"note_appl_lock_row('customer', '1', 'ASMITH', NULL, 'why')",
				"note_appl_lock_row('customer', '1', 'ASMITH', 0, 'why')",
				"note_appl_lock_row('customer', '2', 'ASMITH', NULL, 'why')",
				"set_appl_lock_policy_row('order', 60, 3600, 'Y', 'BOSS', 'why', 'ALL', 'N', 60)",
				"set_appl_lock_policy_row('order', 60, 3600, 'SOME', 'BOSS', 'why', 'ALL', 'N', 60)",
				"drop_appl_lock_policy_row('order', 'BOSS', 'why')",
				"drop_appl_lock_policy_row('order', 'BOSS', 'why')",
				"drop_appl_lock_policy_row('order', '', 'why')",
				"get_appl_lock_row('customer', '1', 'ASMITH', NULL, 60, NULL)",
				"release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', 0, NULL, NULL)",
				fmt.Sprintf("assert_appl_lock_row('customer', 'held', 'JDOE', %v)", fence),
				fmt.Sprintf("release_appl_lock_pass('customer', 'held', 'JDOE', %v, 'JDOE', NULL, 60)", fence),
				"assert_appl_lock_row('customer', '1', 'ASMITH', 1)",
				"assert_appl_lock_row('customer', '1', 'ASMITH', 0)",
				"serialize_appl_lock_row('customer', '1')",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', 60)",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', 0)",
				"announce_appl_lock_waiter_row('customer', 'busy', 'ASMITH', '', 'p1', 60)",
				"retract_appl_lock_waiter_row('customer', 'busy', 'ASMITH', 'p1')",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', 'p1')",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', '')",
				"ask_appl_lock_row('customer', 'held', 'ASMITH', '', 'p1', 'may I?', 60)",
				"inbox_appl_locks('JDOE', NULL, NULL)",
				"ask_appl_lock_row('customer', 'held', 'BROWN', '', 'busy', '', 60)",
				"ask_appl_lock_row('customer', 'held', 'JDOE', '', 'p1', '', 60)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', 'p1', '', 60)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', 'p1', '', 0)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', '', '', 60)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', 'p1', 'LATER', 'soon')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', NULL, 'NO', 'soon')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'BROWN', 'busy', 'GIVE', '')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', 'p2', 'GIVE', '')", fence),
				"answer_appl_lock_row('customer', 'held', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'ASMITH', NULL, 'PERHAPS', '')",
				"answer_appl_lock_row('customer', 'busy', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, 'Y')",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, NULL)",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, 'X')",
				"transfer_appl_locks('JDOE', 'customer', 'KIM', '', 60, NULL, NULL, 'customer', '1', 2, NULL)",
				"release_appl_locks('KIM', 'customer', 'BOSS', 'ill', NULL, NULL, NULL, 'Y')",
				"release_appl_locks('KIM', 'customer', 'BOSS', 'ill', NULL, NULL, NULL, NULL)",
				"release_appl_locks('JDOE', 'customer', NULL, NULL, 'customer', 'c', 2, NULL)",
				"release_appl_locks('', 'customer', NULL, NULL, NULL, NULL, NULL, NULL)",
				"get_appl_lock_permit('room', 'desk', 2, 'JDOE', '', 60)",
				"get_appl_lock_permit('room', 'desk', 1, 'ASMITH', '', 60)",
				"get_appl_lock_permit('room', 'desk', 0, 'ASMITH', '', 60)",
				"poll_appl_locks('p1', 10)",
				"poll_appl_locks('p1', 0)",
				fmt.Sprintf("renew_appl_locks('%s')", document(t, db.RenewableGrant{
					ObjectType: "customer", ObjectID: "busy", OperatorID: "JDOE", Fence: busy, TTLSeconds: 60,
				})),
				"renew_appl_locks('[1]')",
				"inquire_appl_lock_row('customer', '1')",
				"purge_appl_locks_row(1, 1)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', NULL, 'GIVE', 'why')", fence),
				"ask_appl_lock_row('customer', 'held', 'BROWN', '', 'p9', '', 60)",
			} {
				_, _ = contract.RowsByColumn(t.Context(), conn, "CALL "+call) // refusals and errors are part of it
				if got := value(t, conn, "SELECT CONCAT_WS(' ', LAST_INSERT_ID(), @@SESSION.innodb_lock_wait_timeout, @@SESSION.sql_safe_updates + 0)"); got != "4711 42 1" {
					t.Fatalf("after %s: LAST_INSERT_ID(), innodb_lock_wait_timeout and sql_safe_updates are %s, want 4711 42 1", call, got)
				}
			}
		})
	})
}

// Goal: a refusal changes nothing. Method: a transaction that is only refused has modified no row.
func TestRefusalWritesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fence := mustQuery(t, place.SQL, getCall, "1", "JDOE")[0]["p_fence"]
		for _, refused := range []string{
			"get_appl_lock_row('customer', '1', 'ASMITH', '', NULL, NULL)",
			"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
			"release_appl_lock_row('customer', '1', 'JDOE', 1, NULL, NULL)",
			"transfer_appl_lock_row('customer', '1', 'ASMITH', 'BROWN', '', NULL, NULL, NULL)",
			"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', 1, NULL)",
			"inbox_appl_locks('JDOE', NULL, NULL)",
			"note_appl_lock_row('customer', '1', 'ASMITH', NULL, 'why')",
			"note_appl_lock_row('customer', '1', 'JDOE', 1, 'why')",
			"ask_appl_lock_row('customer', '1', 'ASMITH', '', 'p1', '', 0)",
			"answer_appl_lock_row('customer', '1', 'ASMITH', 1, 'BROWN', NULL, 'GIVE', '')",
			"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'BROWN', NULL, 'GIVE', '')",
			fmt.Sprintf("answer_appl_lock_row('customer', '1', 'JDOE', %v, 'BROWN', NULL, 'NO', '')", fence),
		} {
			inTx(t, place.SQL, func(tx *sql.Tx) {
				mustQuery(t, tx, "CALL "+refused)
				if modified := rowsModified(t, tx); modified != "0" {
					t.Errorf("%s: %s rows modified, want 0", refused, modified)
				}
			})
		}
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			if modified := rowsModified(t, tx); modified != "1" {
				t.Errorf("a renewal: %s rows modified, want 1", modified)
			}
		})
	})
}

// rowsModified asks until the server's copy of its transactions has this one.
func rowsModified(t *testing.T, tx *sql.Tx) string {
	t.Helper()
	for {
		time.Sleep(150 * time.Millisecond) // the copy is kept for 100 ms after each look at it
		rows := mustQuery(t, tx, `SELECT trx_rows_modified AS modified FROM information_schema.innodb_trx
			WHERE trx_mysql_thread_id = CONNECTION_ID()`)
		if len(rows) == 1 {
			return fmt.Sprint(rows[0]["modified"])
		}
	}
}

// Goal: a purge at REPEATABLE READ locks the rows that it removes, and no other one that it passes.
// Method: purge in a transaction; meanwhile others renew a live lock and take new ones on both sides.
func TestPurgeLocksNothingElse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		for _, id := range []string{"b", "d", "f"} {
			mustQuery(t, place.SQL, getCall, id, "JDOE")
		}
		mustQuery(t, place.SQL, "UPDATE appl_lock SET expires_ts = expires_ts - INTERVAL 60 DAY WHERE object_id = 'd'")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			if purged := value(t, tx, "CALL purge_appl_locks_row(NULL, NULL)"); purged != "1" {
				t.Fatalf("purged %s, want 1", purged)
			}
			for _, id := range []string{"b", "f", "a", "c", "e", "g"} {
				mustQuery(t, place.SQL, getCall, id, "JDOE")
			}
		})
	})
}

// Goal: a grant that had to wait for a release does not begin before that release. Method: a get waits
// behind a transaction that takes and releases.
func TestGrantBeginsAfterRelease(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var released string
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			waited := make(chan error, 1)
			go func() {
				_, err := contract.RowsByColumn(t.Context(), place.SQL, getCall, "1", "ASMITH")
				waited <- err
			}()
			untilWaiting(t, place, 1)
			mustQuery(t, tx, releaseCall, "1", "JDOE")
			released = value(t, tx, "SELECT CAST(released_ts AS CHAR) FROM appl_lock")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err != nil {
				t.Fatal(err)
			}
		})
		acquired := value(t, place.SQL, "SELECT CAST(acquired_ts AS CHAR) FROM appl_lock WHERE operator_id = 'ASMITH'")
		if acquired < released {
			t.Errorf("the grant begins at %s, before the release at %s", acquired, released)
		}
	})
}

// Goal: a wait is cut off after about a second, whatever the operation and however many wait in line.
// Method: callers behind an open transaction, whose sessions would wait for 50 s.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fence := granted(t, place.SQL, "asked", "JDOE").Fence
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			mustQuery(t, tx, announceCall, "1", "ASMITH", "p1")
			mustQuery(t, tx, "CALL ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', NULL)")
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			var waiters sync.WaitGroup
			for _, call := range []string{
				"get_appl_lock_row('customer', '1', 'ASMITH', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'BROWN', '', 60, NULL)",
				"release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', NULL, NULL)",
				"note_appl_lock_row('customer', '1', 'JDOE', NULL, 'why')",
				"assert_appl_lock_row('customer', '1', 'JDOE', 1)",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', NULL)",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', 'p1')",
				"ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', NULL)",
				"ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', 0)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'asked', 'JDOE', %d, 'ASMITH', NULL, 'NO', '')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'asked', 'JDOE', %d, 'ASMITH', NULL, 'GIVE', '')", fence),
			} {
				waiters.Go(func() {
					began := time.Now()
					_, err := contract.RowsByColumn(ctx, place.SQL, "CALL "+call)
					if numberOf(err) != 1205 || db.KindOf(mysql.InterpretError(err)) != db.KindBusy {
						t.Errorf("%s: %v, want 1205", call, err)
					}
					t.Logf("%s: %s", call, time.Since(began))
				})
			}
			waiters.Wait()
		})
	})
}

// Goal: a call whose connection dies under it, or that is cancelled in flight, says that its outcome is
// unknown; in a transaction it does not, because nothing has happened before the commit; repeating is safe.
// Method: end the session, and cancel, while the call waits for a row.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "ASMITH"}}
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			call := func(ctx context.Context, client *applock.Client, interrupt func()) error {
				failed := make(chan error, 1)
				go func() {
					_, err := client.Get(ctx, request)
					failed <- err
				}()
				untilWaiting(t, place, 1)
				interrupt()
				return <-failed
			}
			if err := call(t.Context(), place.Client, func() { killWaiter(t, tx) }); !errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Errorf("get on a connection that dies: %v, want ErrOutcomeUnknown", err)
			}
			untilNobodyWaits(t, place)
			cancelled, cancel := context.WithCancel(t.Context())
			if err := call(cancelled, place.Client, cancel); !errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled get: %v, want ErrOutcomeUnknown and the cause", err)
			}
			untilNobodyWaits(t, place)
			inTx(t, place.SQL, func(other *sql.Tx) {
				cancelled, cancel := context.WithCancel(t.Context())
				err := call(cancelled, place.Client.WithSQLTx(other), cancel)
				if err == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
					t.Errorf("cancelled get in a transaction: %v, want an error that is not ErrOutcomeUnknown", err)
				}
			})
		})
		if _, err := place.Client.Get(t.Context(), request); err != nil {
			t.Errorf("the same get again: %v", err)
		}
	})
}

// untilNobodyWaits returns when the server has noticed that a caller has gone.
func untilNobodyWaits(t *testing.T, place contract.Place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		waiting, err := place.Waiting(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
		time.Sleep(pollInterval)
	}
}

// killWaiter ends the sessions of the database that are in a call.
func killWaiter(t *testing.T, client contract.Querier) {
	t.Helper()
	for _, row := range mustQuery(t, client, `SELECT id FROM information_schema.processlist
		WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command <> 'Sleep'
			AND (info LIKE '%INSERT INTO appl_lock%' OR info LIKE 'CALL get_appl_lock%')`) {
		mustQuery(t, client, fmt.Sprint("KILL CONNECTION ", row["id"]))
	}
}

// Goal: the text of a failed assert names the holder, or the beginning of a long name: MySQL cuts messages off at
// 128 characters. Method: holders of 64 and 255 characters that take three bytes each (of those that take four, a
// message has question marks).
func TestAssertNamesTheHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		for length, named := range map[int]string{64: strings.Repeat("日", 64), 255: strings.Repeat("日", 61) + "..."} {
			object := strings.Repeat("x", length)
			mustQuery(t, place.SQL, getCall, object, strings.Repeat("日", length))
			_, err := contract.RowsByColumn(t.Context(), place.SQL, "CALL assert_appl_lock_row('customer', ?, 'JDOE', 1)", object)
			var answer *driver.MySQLError
			if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK002" || !strings.Contains(answer.Message, named+" holds it with fence 1") {
				t.Errorf("assert: %v, want LK002 that names the holder and the fence", err)
			}
		}
	})
}
