package mysql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
)

// What InnoDB has of its own in a NULL that keeps the ttl of a grant: the scenarios and interleavings have the rest.

const (
	keepingGet      = "CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)"
	keepingTake     = "CALL take_appl_lock_row('customer', '1', 'BROWN', '', 'why', NULL, NULL)"
	keepingTransfer = "CALL transfer_appl_lock_row('customer', '1', 'JDOE', 'BROWN', '', NULL, NULL, NULL)"
)

// answerInOUT calls an operation by its form with OUT parameters, which always asks the core, and returns them.
func answerInOUT(t *testing.T, handle *sql.DB, operation, in string) map[string]any {
	t.Helper()
	var variables, columns []string
	for _, each := range db.Contract() {
		if each.Name == operation {
			for _, out := range each.OutParameters() {
				variables = append(variables, "@"+out.Name)
				columns = append(columns, "@"+out.Name+" AS "+out.Name)
			}
		}
	}
	conn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	mustQuery(t, conn, "CALL "+operation+"("+in+", "+strings.Join(variables, ", ")+")")
	return mustQuery(t, conn, "SELECT "+strings.Join(columns, ", "))[0]
}

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
	released   = "UPDATE appl_lock SET released_ts = UTC_TIMESTAMP(6);"
	handedOver = "UPDATE appl_lock SET operator_id = 'ASMITH', fence = fence + 1;"
	renewed    = "UPDATE appl_lock SET lock_ts = UTC_TIMESTAMP(6), ttl_seconds = 7200, expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
	gotAgain   = "UPDATE appl_lock SET fence = fence + 1, acquired_ts = UTC_TIMESTAMP(6), lock_ts = UTC_TIMESTAMP(6), ttl_seconds = 7200, expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
)

// Goal: a renewal that keeps the ttl tells the end of the grant that it has renewed, and of no other: what has ended
// before its end could be read is not answered, but decided once more. Method: another session comes between S1 and S2,
// between S1, which reads the row, and S3.
func TestKeptRenewalIsOfThisGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for name, test := range map[string]struct{ change, want string }{
			"nobody":      {"DO 0;", "RENEWED, fence +0, 3600 left"},
			"released":    {released, "ACQUIRED, a later fence, 604800 left"},
			"handed over": {handedOver, "HELD by ASMITH of CS"},
			"got again":   {gotAgain, "RENEWED, fence +1, 7200 left"},
			"renewed":     {renewed, "RENEWED, fence +0, 7200 left"},
		} {
			undo := interrupt(t, handle, "get_appl_lock_core", "-- S3:", "IF v_round = 0 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			if got := inWords(t, answerInOUT(t, handle, "get_appl_lock", "'customer', '1', 'JDOE', NULL, NULL, NULL"), fence); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
		}
	})
}

// Goal: a lock that a read has found to be the caller's own is judged again when its row is locked: an unchanged one is renewed, otherwise
// the get decides again. Method: another session comes between the read and the update.
func TestOwnIsJudgedWhenLocked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for name, test := range map[string]struct{ change, want, note string }{
			"nobody":      {"DO 0;", "RENEWED, fence +0, 3600 left", ""},
			"released":    {released, "ACQUIRED, a later fence, 604800 left", ""},
			"handed over": {handedOver, "HELD by ASMITH of CS", ""},
			"got again":   {gotAgain, "RENEWED, fence +1, 7200 left", ""},
			"a new grant": {"UPDATE appl_lock SET fence = fence + 1;", "RENEWED, fence +1, 3600 left", ""},
			"renewed":     {renewed, "RENEWED, fence +0, 7200 left", ""},
			"noted":       {"UPDATE appl_lock SET note = 'why';", "RENEWED, fence +0, 3600 left", "why"},
			"purged":      {"DELETE FROM appl_lock;", "ACQUIRED, a later fence, 604800 left", ""},
		} {
			undo := interrupt(t, handle, "get_appl_lock_row_core", "-- S3:", "IF v_round = 0 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			answer := mustQuery(t, handle, keepingGet)[0]
			if got := inWords(t, answer, fence); got != test.want || answer["p_note"] != test.note {
				t.Errorf("%s: %s, noted %q, want %s, noted %q", name, got, answer["p_note"], test.want, test.note)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
		}
	})
}

// Goal: the row has the same types, from whichever statement it comes. Method: a get that is answered by each.
func TestAnswersHaveOneType(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := lentPlace(t, product).SQL
		types := func(operator string) (names []string) {
			rows, err := handle.QueryContext(t.Context(), getCall, "1", operator)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			columns, err := rows.ColumnTypes()
			if err != nil || rows.Err() != nil {
				t.Fatal(err, rows.Err())
			}
			for _, column := range columns {
				names = append(names, column.Name()+" "+column.DatabaseTypeName())
			}
			return names
		}
		want := types("JDOE") // the core
		for what, got := range map[string][]string{"S0": types("ASMITH"), "S0c": types("JDOE")} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		mustQuery(t, handle, releaseCall, "1", "JDOE")
		if got := types("ASMITH"); !slices.Equal(got, want) {
			t.Errorf("S0b: %v, want %v", got, want)
		}
	})
}

// Goal: a released lock has no operator, and an empty operator cannot release it, even while a clock that was set back calls it live.
// Method: a released row with an end in the future.
func TestNobodyReleasesForNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := lentPlace(t, product).SQL
		granted(t, handle, "1", "JDOE")
		mustQuery(t, handle, "UPDATE appl_lock SET operator_id = ''")
		for _, nobody := range []any{"", "  ", nil} {
			_, err := contract.RowsByColumn(t.Context(), handle, releaseCall, "1", nobody)
			var answer *driver.MySQLError
			if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK001" || contract.RefusedParameter(answer.Message) != "p_operator_id" {
				t.Errorf("%q: %v, want LK001 of p_operator_id", nobody, err)
			}
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
			undo := interrupt(t, handle, "appl_lock_move", "-- S2:", "IF v_round = 0 THEN "+test.change+" END IF;")
			fence := granted(t, handle, "1", "JDOE").Fence
			if got := inWords(t, mustQuery(t, handle, keepingTransfer)[0], fence); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			undo()
			mustQuery(t, handle, "DELETE FROM appl_lock")
		}
	})
}

// Goal: a take keeps the ttl of the grant that it ends, and names the former holder. Method: as above.
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
			undo := interrupt(t, handle, "appl_lock_move", "-- S2:", "IF v_round = 0 THEN "+test.change+" END IF;")
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

// Goal: a holder who renews with another ttl again and again makes a transfer give up; the transfer does not keep an old ttl. Method: the
// end changes before each S2.
func TestKeptTransferGivesUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		interrupt(t, handle, "appl_lock_move", "-- S2:", "UPDATE appl_lock SET expires_ts = expires_ts + INTERVAL 1 HOUR;")
		granted(t, handle, "1", "JDOE")
		_, err := contract.RowsByColumn(t.Context(), handle, keepingTransfer)
		var answer *driver.MySQLError
		if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK003" {
			t.Errorf("transfer: %v, want LK003", err)
		}
		if last := value(t, handle, "SELECT operator_id FROM appl_lock"); last != "JDOE" {
			t.Errorf("the row says %s, want JDOE, as before the call", last)
		}
	})
}

// Goal: a caller of a hot object who is refused, and at the second look finds it free again, is answered however often that
// happens in a row: LK003 is not for those who only get and release. Method: the holder leaves between S1 and S2, and the
// next one comes before S1, ten times; the same for a release of what its operator gets again and again.
func TestHotObjectIsAnswered(t *testing.T) {
	t.Parallel()
	const gotByASMITH = "UPDATE appl_lock SET operator_id = 'ASMITH', fence = fence + 1, released_ts = NULL;"
	const gotByJDOE = "UPDATE appl_lock SET operator_id = 'JDOE', fence = fence + 1, released_ts = NULL;"
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, test := range []struct{ operation, core, in, first, change, want string }{
			{"get_appl_lock", "get_appl_lock_core", "'customer', '1', 'JDOE', NULL, NULL, NULL", released, gotByASMITH, "ACQUIRED"},
			{"release_appl_lock", "appl_lock_release", "'customer', '1', 'JDOE', NULL, NULL, 'why'", "DO 0;", gotByJDOE, "RELEASED"},
		} {
			handle := newPlace(t, product).SQL
			granted(t, handle, "1", "JDOE")
			before := map[string]string{"get_appl_lock": "-- S1:", "release_appl_lock": "-- S2:"}[test.operation]
			interrupt(t, handle, test.core, before, "IF v_round <= 10 THEN "+test.first+" END IF;")
			interrupt(t, handle, test.core, "-- S3:", "IF v_round < 10 THEN "+test.change+" END IF;")
			if answer := answerInOUT(t, handle, test.operation, test.in); answer["p_outcome"] != test.want {
				t.Errorf("%s: %v, want %s", test.operation, answer, test.want)
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
		handle := lentPlace(t, product).SQL
		granted(t, handle, "1", "JDOE")
		for _, call := range []string{keepingGet, keepingGet, keepingTransfer} {
			mustQuery(t, handle, "UPDATE appl_lock SET acquired_ts = expires_ts - INTERVAL '3599.1' SECOND_MICROSECOND, lock_ts = acquired_ts")
			if left := fmt.Sprint(mustQuery(t, handle, call)[0]["p_seconds_left"]); left != "3600" {
				t.Errorf("%s: %s seconds left, want 3600", call, left)
			}
		}
	})
}

// Goal: a call without a ttl, as most of a desk's calls are, costs no second read of the row if the grant has the default ttl. Method:
// count the session's reads, in the cheapest of a few calls: in some the server looks up the procedure again.
func TestKeptDefaultTTLIsCheap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		conn, err := lentPlace(t, product).SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		lookUps := func(call string, ttl any) int {
			least := math.MaxInt
			untilUndisturbed(t, conn, 5, func() bool {
				before := status(t, conn, "Handler_read_key")
				mustQuery(t, conn, call, ttl)
				least = min(least, status(t, conn, "Handler_read_key")-before)
				return false
			})
			return least
		}
		for _, call := range []string{
			"CALL get_appl_lock_row('customer', '1', 'JDOE', NULL, ?, NULL)",
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
