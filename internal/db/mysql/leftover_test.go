package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: the work of a call that ended with an error does not take effect later, and the connection's next call is in its own transaction. A
// procedure's handlers do not run after a fatal error, such as a full disk, nor after a KILL: its transaction stays open, and the session
// goes on in it. Method: a transfer whose event cannot be written, because the table has lost its file, and one that is killed while it
// waits for the row; then a get on the pool's one connection, and each statement that begins a transaction there, which would commit the
// rest.
func TestNoTransactionIsLeft(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, place contract.Place, transfer func() error, session string) error{
		"fatal":  transferWithoutFile,
		"killed": transferKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, product string) {
				t.Helper()
				place := newPlace(t, product)
				handle := oneConnection(t, place.DSN, nil)
				own := clients.Driver(testclient.MySQL(t, handle))
				if err := getIn(t, own, "1"); err != nil {
					t.Fatal(err)
				}
				transfer := func() error {
					_, err := own.TransferApplLock(context.WithoutCancel(t.Context()), db.TransferApplLockParams{
						ObjectType: "customer", ObjectID: "1", FromOperatorID: "JDOE", ToOperatorID: "MMILLER", TTLSeconds: 60,
					})
					return err
				}
				if err := fail(t, place, transfer, value(t, handle, "SELECT CONNECTION_ID()")); err == nil {
					t.Fatal("transferred")
				}
				if err := getIn(t, own, "2"); err != nil {
					t.Fatal(err)
				}
				requireHeld(t, place.Driver, "2", true)
				inDefaultTx(t, handle, func(*sql.Tx) {})
				held, err := place.Driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
				if err != nil || held.Lock.OperatorID != "JDOE" {
					t.Errorf("after a transfer that was answered by an error: %+v, %v, want JDOE", held, err)
				}
			})
		})
	}
}

func transferWithoutFile(t *testing.T, place contract.Place, transfer func() error, _ string) error {
	t.Helper()
	mustQuery(t, testdb.OpenMySQL(t, place.DSN, nil), "ALTER TABLE appl_lock_event DISCARD TABLESPACE")
	return transfer()
}

// refreshed is how long nobody may look at innodb_trx until it is fresh.
const refreshed = 150 * time.Millisecond

// transferKilled kills the transfer as it waits for the object's row.
func transferKilled(t *testing.T, place contract.Place, transfer func() error, session string) error {
	t.Helper()
	return killedBehind(t, place, "SELECT * FROM appl_lock WHERE object_id = '1' FOR UPDATE", transfer, session)
}

// killedBehind kills a call as it waits for what a transaction has locked, once more if that comes too late.
func killedBehind(t *testing.T, place contract.Place, lock string, call func() error, session string) error {
	t.Helper()
	handle := testdb.OpenMySQL(t, place.DSN, nil)
	waiting := "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = " + session
	var err error
	inDefaultTx(t, handle, func(tx *sql.Tx) {
		mustQuery(t, tx, lock)
		for !isKilled(err) {
			answered := make(chan error, 1)
			go func() { answered <- call() }()
			for isAnswered := false; !isAnswered; {
				if value(t, handle, waiting) != "0" {
					mustQuery(t, handle, fmt.Sprint("KILL QUERY ", session))
				}
				select {
				case err = <-answered:
					isAnswered = true
				case <-time.After(refreshed):
				}
			}
		}
	})
	return err
}

func isKilled(err error) bool { return db.KindOf(err) == db.KindInFlight }

// killed is how many calls are killed on each product; APPLOCK_TEST_KILLS sets another number.
const killed = 100

// Goal: a call that is killed at whatever instant leaves no setting of its session changed once the next verb has run, and nothing but an
// open transaction, in which that verb is refused. Method: verbs with settings unlike the defaults, killed after a random time, then ROLLBACK
// and a verb that takes part in none of them.
func TestKilledCallsLeaveNoSetting(t *testing.T) {
	t.Parallel()
	kills := killed
	if text := os.Getenv("APPLOCK_TEST_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &kills); err != nil {
			t.Fatal(err)
		}
	}
	const settings = "SELECT CONCAT_WS(' ', @@innodb_lock_wait_timeout, @@sql_safe_updates, @@group_concat_max_len, @@time_zone, @@autocommit, @@sql_mode)"
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		conn, killer := session(t, place), session(t, place)
		mustQuery(t, conn, "SET SESSION innodb_lock_wait_timeout = 37, SESSION sql_safe_updates = 1, SESSION group_concat_max_len = 5000, SESSION time_zone = '+09:00'")
		mustQuery(t, killer, "CALL set_appl_lock_policy_row('customer', NULL, 86400, NULL, 'A', NULL, 'ALL', NULL, NULL)")
		grant := document(t, granted(t, killer, "1", "JDOE"))
		before, id := value(t, conn, settings), value(t, conn, "SELECT CONNECTION_ID()")
		calls := []string{
			"CALL renew_appl_locks('" + grant + "')", "CALL poll_appl_locks('p', NULL)", "CALL see_appl_lock('customer', '1', 'JDOE', NULL, 'p', 'EDITING', NULL)",
			"CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)", "CALL get_appl_lock_row('customer', RAND(), 'JDOE', NULL, 60, NULL)",
			"CALL release_appl_lock_row('customer', '2', 'JDOE', NULL, NULL, NULL)", "CALL take_appl_lock_row('customer', '1', 'JDOE', NULL, 'why', NULL, NULL)",
			"CALL ask_appl_lock_row('customer', '1', 'ASMITH', NULL, 'p', NULL, NULL)", "CALL inbox_appl_locks('JDOE', NULL, NULL)", "CALL purge_appl_locks_row(1, 10)",
		}
		hit, changed := 0, 0
		for range kills {
			answered := make(chan error, 1)
			call := calls[rand.IntN(len(calls))]
			go func() {
				_, err := contract.RowsByColumn(t.Context(), conn, call)
				answered <- err
			}()
			time.Sleep(rand.N(3 * time.Millisecond)) // nothing is waited for: a kill at any instant is as good
			mustQuery(t, killer, "KILL QUERY "+id)
			if err := <-answered; isKilled(err) || isKilled(mysql.InterpretError(err)) {
				hit++
			}
			untilRolledBack(t, conn)
			if value(t, conn, settings) != before {
				changed++
			}
			const next = "CALL retract_appl_lock_waiter_row('customer', '9', 'NOBODY', 'p')"
			if _, err := contract.RowsByColumn(t.Context(), conn, next); numberOf(err) == 1179 { // killed before it had its savepoint
				untilRolledBack(t, conn)
				mustQuery(t, conn, next)
			} else if err != nil {
				t.Fatal(err)
			}
			if after := value(t, conn, settings); after != before {
				t.Fatalf("after %s was killed, and one call more, the settings are %s, were %s", call, after, before)
			}
		}
		t.Logf("%d of %d calls were killed, %d left a setting until the next verb", hit, kills, changed)
	})
}

// untilRolledBack ends the transaction of a session, whose first statement a late kill may have met.
func untilRolledBack(t *testing.T, conn *sql.Conn) {
	t.Helper()
	for range 10 {
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err == nil {
			return
		}
	}
	t.Fatal("no ROLLBACK")
}
