package mysql_test

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
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
	renewed    = "UPDATE appl_lock SET lock_ts = lock_ts + INTERVAL 1 MICROSECOND, ttl_seconds = 7200, expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
	gotAgain   = "UPDATE appl_lock SET fence = fence + 1, acquired_ts = UTC_TIMESTAMP(6), lock_ts = UTC_TIMESTAMP(6), ttl_seconds = 7200, expires_ts = UTC_TIMESTAMP(6) + INTERVAL 7200 SECOND;"
)

// Goal: a decision is about the row as it is when it is locked: what has ended before is not answered, but decided once more, and a ttl or an
// end that is kept is that of the grant that goes on. Method: another session comes between the read of JDOE's grant and the decision.
func TestRowIsJudgedWhenLocked(t *testing.T) {
	t.Parallel()
	const (
		nobody     = "DO 0;"
		noted      = "UPDATE appl_lock SET note = 'why';"
		newGrant   = "UPDATE appl_lock SET fence = fence + 1;"
		purged     = "DELETE FROM appl_lock;"
		taken      = "UPDATE appl_lock SET operator_id = 'BROWN', released_ts = NULL;"
		together   = "UPDATE appl_lock SET lock_ts = lock_ts + INTERVAL 1 MICROSECOND, expires_ts = expires_ts + INTERVAL 1 MICROSECOND;"
		later      = "UPDATE appl_lock SET lock_ts = UTC_TIMESTAMP(6) + INTERVAL 5 SECOND;"
		ended      = "UPDATE appl_lock SET lock_ts = lock_ts + INTERVAL 1 MICROSECOND, expires_ts = v_now;"
		clockAhead = "UPDATE appl_lock SET fence = fence + 31536000000000;"
		again      = "ACQUIRED, a later fence, 604800 left"
		another    = "HELD by ASMITH of CS"
	)
	type meanwhile map[string]string // what another session does, and the answer
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		for _, test := range []struct {
			core, comment, call string // without a call, the form with OUT parameters
			answers             meanwhile
		}{
			{"get_appl_lock_core", "-- S3:", "", meanwhile{
				nobody: "RENEWED, fence +0, 3600 left", released: again, handedOver: another, gotAgain: "RENEWED, fence +1, 7200 left",
				renewed: "RENEWED, fence +0, 7200 left",
			}},
			{"get_appl_lock_row_core", "-- S3:", keepingGet, meanwhile{
				nobody: "RENEWED, fence +0, 3600 left", released: again, handedOver: another, gotAgain: "RENEWED, fence +1, 7200 left",
				renewed: "RENEWED, fence +0, 7200 left", later: "RENEWED, fence +0, 3600 left", ended: again, newGrant: "RENEWED, fence +1, 3600 left", noted: "RENEWED, fence +0, 3600 left, noted why", purged: again,
			}},
			{"get_appl_lock_row_core", "-- S3:", "CALL get_appl_lock_row('free', '1', 'ASMITH', 'CS', 3600, NULL)", meanwhile{
				nobody: "ACQUIRED, a later fence, 3600 left", taken: "HELD by BROWN of CS", clockAhead: "ACQUIRED, a year later, 3600 left",
				purged: "ACQUIRED, a later fence, 3600 left",
			}},
			{"appl_lock_move", "-- S1:", keepingTransfer, meanwhile{
				nobody: "TRANSFERRED, a later fence, 3600 left", released: "FREE, no fence, 0 left", handedOver: another,
				renewed: "TRANSFERRED, a later fence, 7200 left",
			}},
			{"appl_lock_move", "-- S1:", keepingTake, meanwhile{
				nobody: "TAKEN by JDOE of CS, 3600 left", released: "FREE, no fence, 0 left", handedOver: "TAKEN by ASMITH of CS, 3600 left",
				renewed: "TAKEN by JDOE of CS, 7200 left",
			}},
		} {
			for change, want := range test.answers {
				before := granted(t, handle, "1", "JDOE").Fence
				if strings.Contains(test.call, "'free'") {
					mustQuery(t, handle, "UPDATE appl_lock SET object_type = 'free', released_ts = UTC_TIMESTAMP(6)")
				}
				if test.core != "appl_lock_move" { // it reads the row once
					change = "IF v_round = 0 THEN " + change + " END IF;"
				}
				undo := interrupt(t, handle, test.core, test.comment, change)
				var answer map[string]any
				if test.call == "" {
					answer = answerInOUT(t, handle, "get_appl_lock", "'customer', '1', 'JDOE', NULL, NULL, NULL")
				} else {
					answer = mustQuery(t, handle, test.call)[0]
				}
				undo()
				if got := inWords(t, answer, before); got != want {
					t.Errorf("%s, meanwhile %s: %s, want %s", test.core, change, got, want)
				}
				displaced := value(t, handle, "SELECT COALESCE(MAX(CONCAT(from_operator_id, '/', from_department_id)), '') FROM appl_lock_event WHERE event = 'TAKEN'")
				if answer["p_outcome"] == "TAKEN" && displaced != fmt.Sprint(answer["p_old_operator_id"], "/", answer["p_old_department_id"]) {
					t.Errorf("%s: the event names %s", want, displaced)
				}
				if strings.Contains(change, later) && value(t, handle, "SELECT lock_ts > UTC_TIMESTAMP(6) FROM appl_lock") != "1" {
					t.Errorf("%s: a renewal by an earlier clock has overwritten one by a later clock", test.core)
				}
				mustQuery(t, handle, "DELETE FROM appl_lock")
				mustQuery(t, handle, "DELETE FROM appl_lock_event")
			}
		}
		// However often other sessions renew the grant, a renewal is answered.
		interrupt(t, handle, "get_appl_lock_row_core", "-- S3:", together)
		fence := granted(t, handle, "1", "JDOE").Fence
		if got := inWords(t, mustQuery(t, handle, keepingGet)[0], fence); got != "RENEWED, fence +0, 3600 left" {
			t.Errorf("beside other renewals: %s", got)
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

// inWords tells an answer about a grant that had a fence; the numbers of new fences differ from run to run.
func inWords(t *testing.T, answer map[string]any, before int64) string {
	t.Helper()
	const year = 31_536_000_000_000 // of microseconds
	words := fmt.Sprint(answer["p_outcome"])
	if operator, department := answer["p_old_operator_id"], answer["p_old_department_id"]; operator != "" || department != "" {
		words += fmt.Sprintf(" by %s of %s", operator, department)
		if answer["p_outcome"] == "HELD" {
			return words
		}
		return fmt.Sprintf("%s, %v left", words, answer["p_seconds_left"])
	}
	var fence int64
	if _, err := fmt.Sscan(fmt.Sprint(answer["p_fence"]), &fence); err != nil {
		t.Fatal(err)
	}
	grant := "a later fence"
	switch {
	case fence == 0:
		grant = "no fence"
	case fence == before, fence == before+1:
		grant = fmt.Sprintf("fence +%d", fence-before)
	case fence > before+year:
		grant = "a year later"
	}
	words += fmt.Sprintf(", %s, %v left", grant, answer["p_seconds_left"])
	if note := answer["p_note"]; note != nil && note != "" {
		words += fmt.Sprint(", noted ", note)
	}
	return words
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
			"CALL transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', NULL, ?, NULL, NULL)",
			"CALL take_appl_lock_row('customer', '1', 'JDOE', NULL, 'why', NULL, ?)",
		} {
			given, kept := lookUps(call, 604800), lookUps(call, nil)
			if kept != given || given == 0 {
				t.Errorf("%s: %d look-ups where the ttl is left out, %d where it is given", call, kept, given)
			}
		}
	})
}
