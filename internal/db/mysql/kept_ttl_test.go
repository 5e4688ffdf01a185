package mysql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/testing/contract"
)

// What InnoDB has of its own in a NULL that keeps the ttl of a grant: the scenarios and interleavings have the rest.

const (
	keepingGet      = "CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL)"
	keepingTake     = "CALL take_appl_lock_row('customer', '1', 'BROWN', '', 'why', NULL, NULL)"
	keepingTransfer = "CALL transfer_appl_lock_row('customer', '1', 'JDOE', 'BROWN', '', NULL, NULL, NULL)"
)

// interrupt puts statements before a comment of a core, as if another session ran them there, until undo is called.
func interrupt(t *testing.T, handle *sql.DB, core, comment, statements string) (undo func()) {
	t.Helper()
	text := fmt.Sprint(mustQuery(t, handle, "SHOW CREATE PROCEDURE "+core)[0]["Create Procedure"])
	if strings.Count(text, comment) != 1 {
		t.Fatalf("%s has %q %d times, want once", core, comment, strings.Count(text, comment))
	}
	replace := func(text string) {
		mustQuery(t, handle, "DROP PROCEDURE "+core)
		mustQuery(t, handle, text)
	}
	replace(strings.Replace(text, comment, statements+"\n"+comment, 1))
	return func() { replace(text) }
}

// What other sessions do to JDOE's grant of an hour.
const (
	released   = "UPDATE appl_lock SET operator_id = '', department_id = '', expires_ts = UTC_TIMESTAMP(6);"
	handedOver = "UPDATE appl_lock SET operator_id = 'ASMITH', fence = fence + 1;"
	renewed    = "UPDATE appl_lock SET lock_ts = UTC_TIMESTAMP(6), expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
	gotAgain   = "UPDATE appl_lock SET fence = fence + 1, acquired_ts = UTC_TIMESTAMP(6), lock_ts = UTC_TIMESTAMP(6), expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
)

// Goal: a renewal that keeps the ttl tells the end of the grant that it has renewed, and of no other: what has ended
// before its end could be read is not answered, but decided once more. Method: another session comes between S1 and S2,
// or between S2 and S3.
func TestKeptRenewalIsOfThisGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for name, test := range map[string]struct{ before, change, want string }{
			"nobody":           {"-- S2:", "DO 0;", "RENEWED, fence +0, 3600 left"},
			"released":         {"-- S2:", released, "ACQUIRED, a later fence, 604800 left"},
			"handed over":      {"-- S2:", handedOver, "HELD by ASMITH of CS"},
			"got again":        {"-- S2:", gotAgain, "RENEWED, fence +1, 7200 left"},
			"renewed late":     {"-- S3:", "UPDATE appl_lock SET expires_ts = expires_ts + INTERVAL 1 MICROSECOND;", "RENEWED, fence +0, 3601 left"},
			"released late":    {"-- S3:", released, "ACQUIRED, a later fence, 604800 left"},
			"handed over late": {"-- S3:", handedOver, "HELD by ASMITH of CS"},
			"got again late":   {"-- S3:", gotAgain, "RENEWED, fence +1, 7200 left"},
		} {
			undo := interrupt(t, handle, "get_appl_lock_core", test.before, "IF v_round = 1 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			if got := inWords(t, mustQuery(t, handle, keepingGet)[0], fence); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
		}
	})
}

// Goal: a transfer that keeps the ttl keeps that of the grant that it ends, as the row says when it is locked. Method:
// another session comes between S1, which reads the ttl, and S2, which decides.
func TestKeptTransferIsOfThisGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for name, test := range map[string]struct{ change, want string }{
			"nobody":      {"DO 0;", "TRANSFERRED, a later fence, 3600 left"},
			"released":    {released, "FREE, no fence, 0 left"},
			"handed over": {handedOver, "HELD by ASMITH of CS"},
			"renewed":     {renewed, "TRANSFERRED, a later fence, 7200 left"},
		} {
			undo := interrupt(t, handle, "transfer_appl_lock_core", "-- S2:", "IF v_round = 1 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			if got := inWords(t, mustQuery(t, handle, keepingTransfer)[0], fence); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
		}
	})
}

// Goal: the same of a take, which ends whichever grant there is, and whose answer and event name whom it has displaced. Method: as above.
func TestKeptTakeIsOfThisGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for name, test := range map[string]struct{ change, want, event string }{
			"nobody":      {"DO 0;", "TAKEN by JDOE of CS", "JDOE/CS"},
			"released":    {released, "FREE, no fence, 0 left", ""},
			"handed over": {handedOver, "TAKEN by ASMITH of CS", "ASMITH/CS"},
			"renewed":     {renewed, "TAKEN by JDOE of CS", "JDOE/CS"},
		} {
			undo := interrupt(t, handle, "take_appl_lock_core", "-- S2:", "IF v_round = 1 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			answer := mustQuery(t, handle, keepingTake)[0]
			if got := inWords(t, answer, fence); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			if left := fmt.Sprint(answer["p_seconds_left"]); name == "renewed" && left != "7200" {
				t.Errorf("%s: %s s left, want 7200", name, left)
			}
			displaced := value(t, handle, "SELECT COALESCE(MAX(CONCAT(from_operator_id, '/', from_department_id)), '') FROM appl_lock_event WHERE event = 'TAKEN'")
			if displaced != test.event {
				t.Errorf("%s: the event names %s, want %s", name, displaced, test.event)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
			mustQuery(t, handle, "DELETE FROM appl_lock_event")
		}
	})
}

// inWords tells an answer about a grant that had a fence; the numbers of new fences differ from run to run.
func inWords(t *testing.T, answer map[string]any, before int64) string {
	t.Helper()
	if operator, department := answer["p_old_operator_id"], answer["p_old_department_id"]; operator != "" || department != "" {
		return fmt.Sprintf("%s by %s of %s", answer["p_outcome"], operator, department)
	}
	var fence int64
	if _, err := fmt.Sscan(fmt.Sprint(answer["p_fence"]), &fence); err != nil {
		t.Fatal(err)
	}
	grant := "a later fence"
	switch fence {
	case 0:
		grant = "no fence"
	case before, before + 1:
		grant = fmt.Sprintf("fence +%d", fence-before)
	}
	return fmt.Sprintf("%s, %s, %v left", answer["p_outcome"], grant, answer["p_seconds_left"])
}

// Goal: whoever renews with another ttl again and again makes a transfer give up, not keep what it has not seen.
// Method: the ttl changes before each S2. All of it is one transaction, which the error takes back.
func TestKeptTransferGivesUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		interrupt(t, handle, "transfer_appl_lock_core", "-- S2:", "UPDATE appl_lock SET expires_ts = expires_ts + INTERVAL 1 HOUR;")
		granted(t, handle, "1", "JDOE")
		_, err := contract.RowsByColumn(t.Context(), handle, keepingTransfer)
		var answer *driver.MySQLError
		if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK003" {
			t.Errorf("transfer: %v, want LK003", err)
		}
		if last := value(t, handle, "SELECT CONCAT(operator_id, ' ', TIMESTAMPDIFF(HOUR, lock_ts, expires_ts)) FROM appl_lock"); last != "JDOE 1" {
			t.Errorf("the row says %s, want JDOE 1, as before the call", last)
		}
	})
}

// Goal: a caller of a hot object who is refused, and at the second look finds it free again, is answered however often that
// happens in a row: LK003 is not for those who only get and release. Method: the holder leaves between S1 and S2, and the
// next one comes before S1, ten times; the same for a release of what its operator gets again and again.
func TestHotObjectIsAnswered(t *testing.T) {
	t.Parallel()
	const gotByASMITH = "UPDATE appl_lock SET operator_id = 'ASMITH', expires_ts = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR;"
	const gotByJDOE = "UPDATE appl_lock SET operator_id = 'JDOE', expires_ts = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR;"
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, test := range []struct{ call, core, beforeS1, beforeS2, want string }{
			{keepingGet, "get_appl_lock_core", gotByASMITH, released, "ACQUIRED"},
			{"CALL release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)", "release_appl_lock_core", released, gotByJDOE, "RELEASED"},
		} {
			handle := newPlace(t, product).SQL
			granted(t, handle, "1", "JDOE")
			interrupt(t, handle, test.core, "-- S1:", "IF v_round <= 10 THEN "+test.beforeS1+" END IF;")
			interrupt(t, handle, test.core, "-- S2:", "IF v_round <= 10 THEN "+test.beforeS2+" END IF;")
			rows, err := contract.RowsByColumn(t.Context(), handle, test.call)
			if err != nil || rows[0]["p_outcome"] != test.want {
				t.Errorf("%s: %v, %v, want %s", test.core, rows, err, test.want)
			}
		}
	})
}

// Goal: a grant that had to wait for its row keeps its whole ttl, however often: its lock_ts may lie up to the length of
// the wait behind the time that expires_ts counts from. Method: a row as it is after a wait of 0.9 s.
func TestKeptTTLAfterAWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		granted(t, handle, "1", "JDOE")
		for _, call := range []string{keepingGet, keepingGet, keepingTransfer} {
			mustQuery(t, handle, "UPDATE appl_lock SET acquired_ts = expires_ts - INTERVAL '3599.1' SECOND_MICROSECOND, lock_ts = acquired_ts")
			if left := fmt.Sprint(mustQuery(t, handle, call)[0]["p_seconds_left"]); left != "3600" {
				t.Errorf("%s: %s seconds left, want 3600", call, left)
			}
		}
	})
}

// Goal: to leave out the ttl, as most of a desk's calls do, costs no second look at the row where the grant has the ttl
// that is left out most. Method: count what the session looks up, in the cheapest of a few calls: in some the server looks up the
// procedure again.
func TestKeptDefaultTTLIsCheap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		conn, err := newPlace(t, product).SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		lookUps := func(call string, ttl any) int {
			least := math.MaxInt
			for range 5 {
				before := status(t, conn, "Handler_read_key")
				mustQuery(t, conn, call, ttl)
				least = min(least, status(t, conn, "Handler_read_key")-before)
			}
			return least
		}
		for _, call := range []string{
			"CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, ?)",
			"CALL transfer_appl_lock_row('customer', '1', 'JDOE', 'JDOE', NULL, ?, NULL, NULL)",
			"CALL take_appl_lock_row('customer', '1', 'JDOE', NULL, 'why', NULL, ?)",
		} {
			given, kept := lookUps(call, 604800), lookUps(call, nil)
			if kept != given || given == 0 {
				t.Errorf("%s: %d look-ups where the ttl is left out, %d where it is given", call, kept, given)
			}
		}
	})
}
