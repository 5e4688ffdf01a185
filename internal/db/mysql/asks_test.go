package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/contract"
)

const (
	askCall    = "CALL ask_appl_lock_row('customer', ?, ?, 'CS', ?, '', NULL)"
	answerCall = "CALL answer_appl_lock_row('customer', ?, ?, ?, ?, NULL, ?, NULL)"
	inboxCall  = "CALL inbox_appl_locks(?, NULL, NULL)"
)

// letYield lets locks on customers go to the asker after that many seconds without an answer: 0 is less than the contract allows.
func letYield(t *testing.T, client contract.Querier, seconds int) {
	t.Helper()
	mustQuery(t, client, "CALL set_appl_lock_policy_row('customer', NULL, NULL, NULL, 'BOSS', NULL, NULL, NULL, NULL)")
	mustQuery(t, client, "UPDATE appl_lock_policy SET yield_after_seconds = ? WHERE object_type = 'customer'", seconds)
}

// outcomeOf returns the outcome of a call that returns one row.
func outcomeOf(t *testing.T, client contract.Querier, call string, args ...any) string {
	t.Helper()
	return fmt.Sprint(mustQuery(t, client, call, args...)[0]["p_outcome"])
}

// Goal: a heartbeat that asks, and an answer in words, do not wait for a transaction that has the lock's row, as the holder's own may.
// Method: such a transaction; a wait would end with 1205.
func TestAskWaitsForNoLock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		letYield(t, place.SQL, 3600)
		fence := mustQuery(t, place.SQL, getCall, "1", "JDOE")[0]["p_fence"]
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			if got := outcomeOf(t, place.SQL, askCall, "1", "ASMITH", "p1"); got != "ASKED" {
				t.Errorf("ask: %s, want ASKED", got)
			}
			mustQuery(t, place.SQL, inboxCall, "JDOE")
			if got := outcomeOf(t, place.SQL, answerCall, "1", "JDOE", fence, "ASMITH", "LATER"); got != "TOLD" {
				t.Errorf("answer: %s, want TOLD", got)
			}
			if got := outcomeOf(t, place.SQL, askCall, "1", "ASMITH", "p1"); got != "ASKED" {
				t.Errorf("ask again: %s, want ASKED", got)
			}
		})
	})
}

// Goal: an inbox writes once for each request that it has shown, and only where the type yields; never where it only reads, where its
// page ends before the request or where another transaction has it. Method: count what a transaction modifies, and which requests are marked.
func TestInboxMarksOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mustQuery(t, place.SQL, getCall, "1", "JDOE")
		mustQuery(t, place.SQL, askCall, "1", "ASMITH", "p1")
		requireModified := func(want string) {
			t.Helper()
			inTx(t, place.SQL, func(tx *sql.Tx) {
				mustQuery(t, tx, "SELECT * FROM appl_lock WHERE object_id = '0' FOR UPDATE") // or else there is no transaction yet
				mustQuery(t, tx, inboxCall, "JDOE")
				if modified := rowsModified(t, tx); modified != want {
					t.Errorf("%s rows modified, want %s", modified, want)
				}
				// And it has locked no gap: others ask meanwhile.
				mustQuery(t, place.SQL, askCall, "1", "BROWN", "p1")
				mustQuery(t, place.SQL, "CALL ask_appl_lock_row('customer', '1', 'BROWN', NULL, 'p1', NULL, 0)")
			})
		}
		requireMarked := func(want string) {
			t.Helper()
			if marked := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_ask WHERE shown_ts IS NOT NULL"); marked != want {
				t.Errorf("%s requests are marked, want %s", marked, want)
			}
		}
		requireModified("0")
		letYield(t, place.SQL, 3600)
		requireModified("1")
		requireMarked("0") // it was rolled back
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, askCall, "1", "ASMITH", "p1")
			mustQuery(t, place.SQL, inboxCall, "JDOE") // a wait would end with 1205
		})
		requireMarked("0")
		readOnly, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if rows := mustQuery(t, readOnly, inboxCall, "JDOE"); len(rows) != 1 {
			t.Errorf("%v, want the request", rows)
		}
		if err := readOnly.Rollback(); err != nil {
			t.Fatal(err)
		}
		requireMarked("0")
		mustQuery(t, place.SQL, inboxCall, "JDOE")
		requireMarked("1")
		requireModified("0")
	})
}

// Goal: of a grant that an operator has got by two programs both requests go, and one that another transaction is just
// changing does not hold up the yield: its next call removes it. Method: a request in an open transaction.
func TestYieldPassesOverLockedRequests(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		letYield(t, place.SQL, 0)
		mustQuery(t, place.SQL, getCall, "1", "JDOE")
		for _, program := range []string{"p1", "p2", "p3"} {
			mustQuery(t, place.SQL, askCall, "1", "ASMITH", program)
		}
		mustQuery(t, place.SQL, inboxCall, "JDOE")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, `UPDATE appl_lock_ask SET message = 'changing'
				WHERE object_type = 'customer' AND object_id = '1' AND operator_id = 'ASMITH' AND client_id = 'p2'`)
			if got := outcomeOf(t, place.SQL, askCall, "1", "ASMITH", "p1"); got != "GIVEN" {
				t.Errorf("%s, want GIVEN", got)
			}
		})
		if left := strings.Join(column(t, place.SQL, "SELECT client_id FROM appl_lock_ask"), " "); left != "p2" {
			t.Errorf("the requests of %q are left, want that of p2", left)
		}
		if got := outcomeOf(t, place.SQL, askCall, "1", "ASMITH", "p2"); got != "OWN" {
			t.Errorf("%s, want OWN", got)
		}
		if left := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_ask"); left != "0" {
			t.Errorf("%s requests are left", left)
		}
	})
}
